import { Type, type Static } from "typebox";
import { RUN_METRICS_WINDOW_DEFAULT, RUN_METRICS_WINDOWS } from "../run-metrics.ts";
import { RUN_STATUSES } from "../runs.ts";
import { DeclaredId, Id, Nullable, Timestamp } from "./primitives.ts";

/** Entrypoints that a list of metrics has at most. */
export const METRICS_ENTRYPOINTS = 1_000;

const Window = Type.Enum([...RUN_METRICS_WINDOWS], {
  description: `How far back. Default \`${RUN_METRICS_WINDOW_DEFAULT}\`.`,
});
const Count = Type.Integer({ minimum: 0 });

export const GetRunMetrics = Type.Object(
  {
    window: Type.Optional(Window),
    task: Type.Optional(DeclaredId),
    actor: Type.Optional(DeclaredId),
  },
  { additionalProperties: false },
);
export type GetRunMetrics = Static<typeof GetRunMetrics>;

export const ListEntrypointMetrics = Type.Object(
  {
    window: Type.Optional(Window),
    kind: Type.Optional(Type.Enum(["task", "actor"], { description: "Only tasks, or only actors." })),
  },
  { additionalProperties: false },
);
export type ListEntrypointMetrics = Static<typeof ListEntrypointMetrics>;

export const RunPercentiles = Type.Object(
  { p50: Count, p95: Count, p99: Count },
  {
    $id: "RunPercentiles",
    description: "Milliseconds. Each differs from the exact value by at most 5 % and 1 ms.",
  },
);
export type RunPercentiles = Static<typeof RunPercentiles>;

const figures = {
  ended: { ...Count, description: "Runs that ended in this time, whatever their outcome." },
  succeeded: Count,
  failed: Count,
  cancelled: Count,
  expired: Count,
  system_failed: Count,
  failure_rate: Nullable(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        "The share of failed, expired and system-failed runs in the runs that ended without being cancelled.",
    }),
  ),
  queue_time_ms: Nullable(RunPercentiles),
  duration_ms: Nullable(RunPercentiles),
};

export const RunFigures = Type.Object(figures, {
  $id: "RunFigures",
  description:
    "Runs by when they ended. Queue time is from when a run was to start until its first attempt; duration is from then until the run ended, " +
    "with waits and retries. Both are null when no run of this time had started.",
});
export type RunFigures = Static<typeof RunFigures>;

export const RunMetricsBucket = Type.Object(
  { at: Type.String({ ...Timestamp, description: "When this time begins." }), ...figures },
  { $id: "RunMetricsBucket" },
);
export type RunMetricsBucket = Static<typeof RunMetricsBucket>;

const samples = (description: string) => Type.Object({ max: Count, last: Count }, { description });

export const RunGauges = Type.Object(
  {
    at: Type.String({ ...Timestamp, description: "When this time begins." }),
    queued: samples("Queued runs, with those that are delayed or wait for a retry."),
    oldest_queued_ms: samples(
      "How long the oldest queued run has been queued. It is looked for in the 2,000 oldest live runs.",
    ),
    waiting: samples("Runs that wait in their code."),
    pending_tokens: samples("Pending tokens, at most 10,000."),
    worker_slots: Nullable(
      samples("Slots of the workers of the environment's group, which may also work for other environments."),
    ),
    used_worker_slots: samples("Those of the slots that had a run."),
  },
  {
    $id: "RunGauges",
    description:
      "The greatest and the last of the samples, which are 15 s apart. Nothing is sampled while no run is queued, running or waiting and no token is pending: all are 0, and `worker_slots` is null.",
  },
);
export type RunGauges = Static<typeof RunGauges>;

const place = {
  at: Timestamp,
  window: Type.Enum([...RUN_METRICS_WINDOWS]),
  since: Type.String({
    ...Timestamp,
    description: "When the window begins: on a whole minute, or a whole hour.",
  }),
  history_complete: Type.Boolean({
    description: "False after an upgrade, until the runs that ended before the upgrade are counted.",
  }),
};

export const RunMetrics = Type.Object(
  {
    ...place,
    task: Nullable(Type.String()),
    actor: Nullable(Type.String()),
    bucket_ms: { ...Count, description: "How long each bucket is." },
    total: RunFigures,
    buckets: Type.Array(RunMetricsBucket, { description: "Oldest first. The last one is still under way." }),
    gauges: Nullable(
      Type.Array(RunGauges, { description: "One for each bucket. Null with `task` or `actor`." }),
    ),
  },
  { $id: "RunMetrics" },
);
export type RunMetrics = Static<typeof RunMetrics>;

export const LastRun = Type.Object(
  { id: Id("run"), status: Type.Enum([...RUN_STATUSES]), created_at: Timestamp },
  { $id: "LastRun", description: "The run that was created last." },
);
export type LastRun = Static<typeof LastRun>;

export const EntrypointMetrics = Type.Object(
  {
    task: Nullable(Type.String()),
    actor: Nullable(Type.String()),
    ...figures,
    last_run: Nullable(LastRun),
  },
  { $id: "EntrypointMetrics" },
);
export type EntrypointMetrics = Static<typeof EntrypointMetrics>;

export const EntrypointMetricsList = Type.Object(
  {
    ...place,
    entrypoints: Type.Array(EntrypointMetrics, {
      maxItems: METRICS_ENTRYPOINTS,
      description:
        "Tasks and actors that the current deployment declares, and others that had runs in the window. Those with the most runs come first.",
    }),
    entrypoints_complete: Type.Boolean({ description: `False: there are more than ${METRICS_ENTRYPOINTS}.` }),
  },
  { $id: "EntrypointMetricsList" },
);
export type EntrypointMetricsList = Static<typeof EntrypointMetricsList>;
