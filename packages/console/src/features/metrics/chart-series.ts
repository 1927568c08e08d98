import type {
  EntrypointMetrics,
  RunFigures,
  RunGauges,
  RunMetrics,
  RunMetricsBucket,
} from "@keelson/contract";
import { describeDuration } from "../../ui/describe-time.ts";

/** A line of a chart. Null: there is no value then. */
export type Series = {
  label: string;
  tone: Tone;
  /** Told apart without colours. */
  dash?: "dashed" | "dotted";
  values: readonly (number | null)[];
};
/** Colours of the style sheet. */
export type Tone = "good" | "bad" | "warn" | "info" | "accent" | "quiet";

export type Chart = {
  title: string;
  /** What the whole window says, in a sentence. */
  summary: string;
  /** When each value begins, in seconds. */
  times: readonly number[];
  series: readonly Series[];
  describe: (value: number) => string;
  /** Said instead of lines. */
  empty: string;
};

const countOf = (value: number): string => value.toLocaleString("en");
export const percentOf = (rate: number | null): string =>
  rate === null ? "–" : `${(rate * 100).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
export const durationOf = (ms: number | undefined): string => (ms === undefined ? "–" : describeDuration(ms));

/** Runs that did not end as they should: a cancelled one was someone's wish. */
export const failuresOf = ({ failed, expired, system_failed: system }: RunFigures): number =>
  failed + expired + system;

/** How many ended per day, as in the window until now. */
export function runsPerDay({ ended }: EntrypointMetrics, since: string, at: string): string {
  const days = (Date.parse(at) - Date.parse(since)) / 86_400_000;
  if (ended === 0 || days <= 0) return "0";
  const rate = ended / days;
  return rate.toLocaleString("en", { maximumFractionDigits: rate < 10 ? 1 : 0 });
}

const timesOf = (rows: readonly { at: string }[]): number[] => rows.map(({ at }) => Date.parse(at) / 1_000);

function outcomes({ total, buckets }: RunMetrics): Chart {
  const of = (pick: (bucket: RunMetricsBucket) => number): number[] => buckets.map(pick);
  return {
    title: "Ended runs",
    summary:
      `${countOf(total.ended)} ended: ${countOf(total.succeeded)} succeeded, ${countOf(failuresOf(total))} failed` +
      ` (${percentOf(total.failure_rate)}), ${countOf(total.cancelled)} cancelled.`,
    times: timesOf(buckets),
    series: [
      { label: "Succeeded", tone: "good", values: of(({ succeeded }) => succeeded) },
      { label: "Failed", tone: "bad", dash: "dashed", values: of(failuresOf) },
      { label: "Cancelled", tone: "quiet", dash: "dotted", values: of(({ cancelled }) => cancelled) },
    ],
    describe: countOf,
    empty: "No run ended in this time.",
  };
}

function percentiles(
  { total, buckets }: RunMetrics,
  title: string,
  verb: string,
  field: "queue_time_ms" | "duration_ms",
): Chart {
  const of = (name: "p50" | "p95" | "p99"): (number | null)[] =>
    buckets.map((bucket) => bucket[field]?.[name] ?? null);
  const all = total[field];
  return {
    title,
    summary:
      all === null
        ? "No run that started has ended in this time."
        : `Half of the runs ${verb} at most ${durationOf(all.p50)}, 95 % at most ${durationOf(all.p95)}, 99 % at most ${durationOf(all.p99)}.`,
    times: timesOf(buckets),
    series: [
      { label: "p50", tone: "info", values: of("p50") },
      { label: "p95", tone: "warn", dash: "dashed", values: of("p95") },
      { label: "p99", tone: "bad", dash: "dotted", values: of("p99") },
    ],
    describe: describeDuration,
    empty: "No run that started has ended in this time.",
  };
}

const greatest = (values: readonly (number | null)[]): number =>
  values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);

function queueDepth(gauges: readonly RunGauges[]): Chart {
  const queued = gauges.map((gauge) => gauge.queued.max);
  const waiting = gauges.map((gauge) => gauge.waiting.max);
  const tokens = gauges.map((gauge) => gauge.pending_tokens.max);
  const last = gauges.at(-1);
  return {
    title: "Queue depth",
    summary: `Up to ${countOf(greatest(queued))} runs were queued and ${countOf(greatest(waiting))} waited. ${countOf(last?.queued.last ?? 0)} are queued in the last sample.`,
    times: timesOf(gauges),
    series: [
      { label: "Queued", tone: "warn", values: queued },
      { label: "Waiting", tone: "info", dash: "dashed", values: waiting },
      { label: "Pending tokens", tone: "quiet", dash: "dotted", values: tokens },
    ],
    describe: countOf,
    empty: "No run was queued or waiting in this time.",
  };
}

function oldestQueued(gauges: readonly RunGauges[]): Chart {
  const ages = gauges.map((gauge) => gauge.oldest_queued_ms.max);
  return {
    title: "Oldest queued run",
    summary:
      greatest(ages) === 0
        ? "No run was ready to start when a sample was taken."
        : `A run that was ready to start was queued for up to ${describeDuration(greatest(ages))}.`,
    times: timesOf(gauges),
    series: [{ label: "Age", tone: "warn", values: ages }],
    describe: describeDuration,
    empty: "No run was queued in this time.",
  };
}

function slots(gauges: readonly RunGauges[]): Chart {
  const offered = gauges.map((gauge) => gauge.worker_slots?.max ?? null);
  const used = gauges.map((gauge) => (gauge.worker_slots === null ? null : gauge.used_worker_slots.max));
  return {
    title: "Worker slots",
    summary: `Up to ${countOf(greatest(used))} slots were used, of up to ${countOf(greatest(offered))}.`,
    times: timesOf(gauges),
    series: [
      { label: "Offered", tone: "quiet", dash: "dashed", values: offered },
      { label: "Used", tone: "accent", values: used },
    ],
    describe: countOf,
    empty: "Workers had nothing to do in this time.",
  };
}

/** The charts of an environment, or of one task or actor. */
export function chartsOf(metrics: RunMetrics): Chart[] {
  const { gauges } = metrics;
  return [
    outcomes(metrics),
    percentiles(metrics, "Duration", "took", "duration_ms"),
    percentiles(metrics, "Queue time", "were queued for", "queue_time_ms"),
    ...(gauges === null ? [] : [queueDepth(gauges), oldestQueued(gauges), slots(gauges)]),
  ];
}

export const isEmpty = ({ series }: Chart): boolean => series.every(({ values }) => greatest(values) === 0);
