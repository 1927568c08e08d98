import type { NotedOccurrences } from "../../noted-fact.ts";
import type { Metrics } from "../edge/metrics.ts";

const LATE_BOUNDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];

/** Counts occurrences of schedules: those that started a run, and how late, and those that did not, and why. */
export function createScheduleMetrics(metrics: Metrics): (noted: NotedOccurrences) => void {
  const fired = metrics
    .counters("keelson_schedules_fired_total", "Occurrences of schedules that started a run.", [])
    .of();
  const late = metrics
    .histograms(
      "keelson_schedule_lateness_seconds",
      "How long after its time an occurrence of a schedule started its run.",
      [],
      LATE_BOUNDS,
    )
    .of();
  const skipped = metrics.counters(
    "keelson_schedules_skipped_total",
    "Occurrences of schedules that started no run, by reason.",
    ["reason"],
  );
  return ({ occurrences, at }) => {
    for (const { scheduledAt, status, reason } of occurrences) {
      if (status === "skipped") {
        skipped.of(reason ?? "").value += 1;
        continue;
      }
      fired.value += 1;
      late.observe(Math.max(0, at - scheduledAt) / 1_000);
    }
  };
}
