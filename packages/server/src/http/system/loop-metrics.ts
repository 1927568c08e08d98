import type { Metrics } from "../edge/metrics.ts";

/** Counts the rounds of background loops. */
export function createLoopMetrics(metrics: Metrics): (loop: string, tookMs: number, failed: boolean) => void {
  const rounds = metrics.counters("keelson_loop_rounds_total", "Rounds of background loops that ended.", [
    "loop",
  ]);
  const failures = metrics.counters(
    "keelson_loop_round_failures_total",
    "Rounds of background loops that failed as a whole.",
    ["loop"],
  );
  const seconds = metrics.counters(
    "keelson_loop_seconds_total",
    "Time that rounds of background loops took.",
    ["loop"],
  );
  return (loop, tookMs, failed) => {
    rounds.of(loop).value += 1;
    failures.of(loop).value += failed ? 1 : 0;
    seconds.of(loop).value += tookMs / 1_000;
  };
}
