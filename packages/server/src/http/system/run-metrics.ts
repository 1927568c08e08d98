import {
  encodeId,
  TERMINAL_RUN_STATUSES,
  WAIT_KINDS,
  type TerminalRunStatus,
  type Uuid,
} from "@keelson/contract";
import type { LeasedExecution } from "../../core/executions/execution.ts";
import type { RunLabels } from "../../core/runs/run-label-reads.ts";
import type { NotedRun, NotedRuns, NotedWaits } from "../../noted-fact.ts";
import { keepBounded, OTHER, type Counter, type Family, type Histogram } from "../edge/metric-series.ts";
import type { Metrics } from "../edge/metrics.ts";

/** What is counted of the runs whose changes this server committed. */
export type RunMetrics = {
  noteLeased(executions: readonly LeasedExecution[]): void;
  noteRuns(noted: NotedRuns): void;
  noteWaits(noted: NotedWaits): void;
  /** How to learn what is not known here of a run, once there is a database. */
  readLabelsBy(read: (runs: readonly RunKey[]) => Promise<RunLabels[]>): void;
};

type RunKey = { environmentId: Uuid<"env">; runId: Uuid<"run"> };

/** Label sets of runs that are kept apart: tasks and queues are named by users. */
const MAX_RUN_LABELS = 1_000;
/** Environments that have histograms of their own: each of them is some thirty series. */
const MAX_ENVIRONMENTS = 100;
/** Runs whose labels are remembered from their lease. */
const MAX_KNOWN = 50_000;
/** Labels of so many runs are read at once, by their keys. */
const READ_AT_ONCE = 1_000;
/** Runs whose labels could not be read yet, as while PostgreSQL is away. */
const MAX_UNKNOWN = 20_000;

const QUEUE_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
const RUN_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400];
const STEP_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800];
const WAIT_BOUNDS = [0.1, 1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800];

/** The series of all runs with the same labels. */
type RunSeries = {
  ended: Record<TerminalRunStatus, Counter>;
  queued: Histogram;
  lasted: Histogram;
};
type Known = { series: RunSeries; dueAt: number };

/** What happened to a run whose labels are not known here. */
type Unknown = RunKey & {
  firstStartedAt: number | null;
  ending: { status: TerminalRunStatus; at: number; startedAt: number | null } | null;
};

/**
 * The server that leases a run remembers its labels, so that its reports cost a look-up in memory. Of a run that another
 * server leased, or that nobody did, the labels are read later, for a thousand runs at once: never within a request.
 */
export function createRunMetrics(metrics: Metrics): RunMetrics {
  const seriesOf = createSeries(metrics);
  const countLoss = createLossCounts(metrics);
  const steps = createStepMetrics(metrics);
  const waits = metrics.histograms(
    "keelson_wait_duration_seconds",
    "Time from the creation of a wait until it was resolved or timed out.",
    ["kind"],
    WAIT_BOUNDS,
  );
  const waited = recordOf(WAIT_KINDS, (kind) => waits.of(kind));
  const known = new Map<Uuid<"run">, Known>();
  const unknown = keepUnknown(seriesOf);

  const noteRun = (run: NotedRun): void => {
    countLoss(run);
    steps.observe(run.events);
    const { execution, startedBefore, ending } = run;
    const firstStartedAt = startedBefore ? null : execution.startedAt;
    if (firstStartedAt === null && ending === null) return;
    const { environmentId, runId, startedAt } = execution;
    const remembered = known.get(runId);
    if (remembered === undefined)
      return unknown.add({
        ...{ environmentId, runId, firstStartedAt },
        ending: ending === null ? null : { status: ending.status, at: ending.at, startedAt },
      });
    if (firstStartedAt !== null) observeStart(remembered, firstStartedAt);
    if (ending === null) return;
    observeEnd(remembered.series, ending, startedAt);
    known.delete(runId);
  };
  metrics.beforeRender(unknown.resolve);
  return {
    noteLeased: (executions) => {
      for (const {
        environmentId,
        runId,
        entrypointKind,
        entrypoint,
        queue,
        createdAt,
        startAt,
      } of executions) {
        if (known.size >= MAX_KNOWN) forgetOldest(known);
        const series = seriesOf(environmentId, entrypointKind, entrypoint, queue);
        known.set(runId, { series, dueAt: Math.max(createdAt, startAt ?? 0) });
      }
    },
    noteRuns: ({ runs, journal }) => {
      for (const run of runs) noteRun(run);
      steps.count(journal);
    },
    noteWaits: ({ waits: settled, settledAt }) => {
      for (const { kind, createdAt } of settled) waited[kind].observe(secondsFrom(createdAt, settledAt));
    },
    readLabelsBy: unknown.readLabelsBy,
  };
}

type SeriesOf = (environmentId: string, kind: string, entrypoint: string, queue: string) => RunSeries;

function createSeries(metrics: Metrics): SeriesOf {
  const ended = metrics.counters(
    "keelson_runs_ended_total",
    `Runs that ended, by how they did. Beyond ${MAX_RUN_LABELS} sets of labels, all but the status are "${OTHER}".`,
    ["environment", "kind", "entrypoint", "queue", "status"],
  );
  const queued = metrics.histograms(
    "keelson_run_queue_seconds",
    `Time from when a run was to start until its first attempt began. Beyond ${MAX_ENVIRONMENTS} environments, the label is "${OTHER}".`,
    ["environment"],
    QUEUE_BOUNDS,
  );
  const lasted = metrics.histograms(
    "keelson_run_duration_seconds",
    "Time from the first attempt of a run until the run ended, with its waits and retries.",
    ["environment", "kind"],
    RUN_BOUNDS,
  );
  const environmentOf = keepBounded(MAX_ENVIRONMENTS, (environment: string) => environment);
  const make: SeriesOf = (environmentId, kind, entrypoint, queue) => {
    const environment = environmentId === OTHER ? OTHER : encodeId("env", environmentId as Uuid<"env">);
    const place = environmentOf(environment);
    return {
      ended: recordOf(TERMINAL_RUN_STATUSES, (status) =>
        ended.of(environment, kind, entrypoint, queue, status),
      ),
      queued: queued.of(place),
      lasted: lasted.of(place, kind),
    };
  };
  return keepBounded(MAX_RUN_LABELS, make);
}

function createLossCounts(metrics: Metrics): (run: NotedRun) => void {
  const lost = metrics.counters(
    "keelson_leases_lost_total",
    "Leases that ended without an outcome: not renewed, overrun, or given back by a worker whose infrastructure failed. `begun` says whether the code had begun.",
    ["cause", "begun"],
  );
  const retried = metrics.counters(
    "keelson_attempts_retried_total",
    "Attempts that failed and are followed by another one, by the kind of failure.",
    ["failure"],
  );
  return ({ leaseLost, retriedAfter }) => {
    if (leaseLost !== null) lost.of(leaseLost.cause, String(leaseLost.begun)).value += 1;
    if (retriedAfter !== null) retried.of(retriedAfter).value += 1;
  };
}

type StepMetrics = {
  count(journal: NotedRuns["journal"]): void;
  observe(events: NotedRun["events"]): void;
};

function createStepMetrics(metrics: Metrics): StepMetrics {
  const steps: Family<Counter> = metrics.counters("keelson_steps_total", "Steps whose outcome was stored.", [
    "outcome",
  ]);
  const [succeeded, failed] = [steps.of("succeeded"), steps.of("failed")];
  const tries = metrics.histograms(
    "keelson_step_duration_seconds",
    "How long each try of a step took, by how it ended.",
    ["outcome"],
    STEP_BOUNDS,
  );
  const took: Readonly<Record<string, Histogram>> = {
    "step.completed": tries.of("succeeded"),
    "step.failed": tries.of("failed"),
  };
  return {
    count: (journal) => {
      for (const { kind, error } of journal)
        if (kind === "step") (error === null ? succeeded : failed).value += 1;
    },
    observe: (events) => {
      for (const { k, x } of events) {
        const ms = x?.["duration_ms"];
        // A worker of another make says what it likes.
        if (typeof ms === "number" && ms >= 0) took[k]?.observe(ms / 1_000);
      }
    },
  };
}

/** Keeps what happened to runs without labels until these are read. */
function keepUnknown(seriesOf: SeriesOf) {
  const waiting: Unknown[] = [];
  let read: ((runs: readonly RunKey[]) => Promise<RunLabels[]>) | null = null;
  let reading: Promise<void> | null = null;
  const count = (run: Unknown, labels: RunLabels | undefined): void => {
    const series =
      labels === undefined
        ? seriesOf(OTHER, OTHER, OTHER, OTHER)
        : seriesOf(run.environmentId, labels.entrypointKind, labels.entrypoint, labels.queue);
    const { firstStartedAt, ending } = run;
    if (firstStartedAt !== null && labels !== undefined)
      observeStart({ series, dueAt: Math.max(labels.createdAt, labels.startAt ?? 0) }, firstStartedAt);
    if (ending !== null) observeEnd(series, ending, ending.startedAt);
  };
  const readOnce = async (): Promise<void> => {
    const ask = read;
    if (ask === null) return;
    while (waiting.length > 0) {
      const runs = waiting.splice(0, READ_AT_ONCE);
      try {
        const labels = new Map((await ask(runs)).map((row) => [row.runId, row]));
        for (const run of runs) count(run, labels.get(run.runId));
      } catch (error) {
        waiting.unshift(...runs);
        throw error;
      }
    }
  };
  // What cannot be read now is tried again when the metrics are next asked for.
  const resolve = (): Promise<void> =>
    (reading ??= readOnce()
      .catch(() => undefined)
      .finally(() => (reading = null)));
  return {
    add: (run: Unknown): void => {
      waiting.push(run);
      if (waiting.length > MAX_UNKNOWN) count(waiting.shift() as Unknown, undefined);
      if (waiting.length % READ_AT_ONCE === 0) void resolve();
    },
    resolve,
    readLabelsBy: (by: (runs: readonly RunKey[]) => Promise<RunLabels[]>): void => {
      read = by;
    },
  };
}

const observeStart = ({ series, dueAt }: Known, startedAt: number): void =>
  series.queued.observe(secondsFrom(dueAt, startedAt));

function observeEnd(
  { ended, lasted }: RunSeries,
  ending: { status: TerminalRunStatus; at: number },
  startedAt: number | null,
): void {
  ended[ending.status].value += 1;
  if (startedAt !== null) lasted.observe(secondsFrom(startedAt, ending.at));
}

/** The age of the oldest: a run that waits for days may be forgotten, and is then read. */
function forgetOldest(known: Map<Uuid<"run">, Known>): void {
  for (const runId of known.keys()) {
    known.delete(runId);
    return;
  }
}

const secondsFrom = (from: number, to: number): number => Math.max(0, to - from) / 1_000;

const recordOf = <Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value> => Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<Key, Value>;
