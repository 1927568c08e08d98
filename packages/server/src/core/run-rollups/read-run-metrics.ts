import type { RunMetricsWindow, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { bucketTimes, metricsWindow, type MetricsWindow } from "./metrics-window.ts";
import { addRolled, emptyRolled, type RolledKind, type Rolled } from "./run-rollup.ts";
import { listGauges, type GaugeRow } from "./run-gauge-reads.ts";
import { listLastRuns, listRollups, sumRollups, readProgress, type LastRun } from "./run-rollup-reads.ts";

export type MetricsSeries = {
  window: MetricsWindow;
  isFilled: boolean;
  total: Rolled;
  buckets: (Rolled & { at: number })[];
  /** One for each bucket; null of one entrypoint. */
  gauges: { at: number; samples: GaugeRow | null }[] | null;
};

/** The runs of an environment, or of one entrypoint, by when they ended. */
export async function readRunMetrics(
  db: Queryable,
  environmentId: Uuid<"env">,
  { kind, entrypoint, length }: { kind: RolledKind; entrypoint: string; length: RunMetricsWindow },
  now: number,
): Promise<MetricsSeries> {
  const window = metricsWindow(length, now);
  const { minutes, since } = window;
  const [{ filled }, rows, gauges] = await Promise.all([
    readProgress(db),
    listRollups(db, environmentId, { kind, entrypoint, minutes, since }),
    kind === "all" ? listGauges(db, environmentId, { minutes, since }) : null,
  ]);
  const buckets = bucketTimes(window, now).map((at) => ({ at, ...emptyRolled() }));
  const total = emptyRolled();
  const indexOf = (at: number): number => Math.floor((at - since) / window.bucketMs);
  for (const row of rows) {
    const bucket = buckets[indexOf(row.at)];
    // A server whose clock is ahead of this one may have counted into a time that has not begun here.
    if (bucket === undefined) continue;
    addRolled(bucket, row);
    addRolled(total, row);
  }
  return {
    ...{ window, isFilled: filled, total, buckets },
    gauges: gauges === null ? null : mergeGauges(buckets, gauges, indexOf),
  };
}

function mergeGauges(
  buckets: readonly { at: number }[],
  rows: readonly GaugeRow[],
  indexOf: (at: number) => number,
): { at: number; samples: GaugeRow | null }[] {
  const merged: { at: number; samples: GaugeRow | null }[] = buckets.map(({ at }) => ({ at, samples: null }));
  for (const row of rows) {
    const bucket = merged[indexOf(row.at)];
    if (bucket !== undefined) bucket.samples = bucket.samples === null ? row : laterOf(bucket.samples, row);
  }
  return merged;
}

/** The greatest of both, and the last of the later one. */
const laterOf = (earlier: GaugeRow, later: GaugeRow): GaugeRow => ({
  ...later,
  queuedMax: Math.max(earlier.queuedMax, later.queuedMax),
  oldestQueuedMsMax: Math.max(earlier.oldestQueuedMsMax, later.oldestQueuedMsMax),
  waitingMax: Math.max(earlier.waitingMax, later.waitingMax),
  pendingTokensMax: Math.max(earlier.pendingTokensMax, later.pendingTokensMax),
  slotsMax: Math.max(earlier.slotsMax, later.slotsMax),
  slotsUsedMax: Math.max(earlier.slotsUsedMax, later.slotsUsedMax),
});

export type EntrypointFigures = {
  kind: "task" | "actor";
  entrypoint: string;
  rolled: Rolled;
  lastRun: LastRun | null;
};

/** Of each entrypoint of the kinds: those that are declared, and others that had runs in the window; the most runs first. */
export async function readEntrypointMetrics(
  db: Queryable,
  environmentId: Uuid<"env">,
  declared: Readonly<Partial<Record<"task" | "actor", readonly string[]>>>,
  { length, limit }: { length: RunMetricsWindow; limit: number },
  now: number,
): Promise<{
  window: MetricsWindow;
  isFilled: boolean;
  entrypoints: EntrypointFigures[];
  isComplete: boolean;
}> {
  const window = metricsWindow(length, now);
  const found: Omit<EntrypointFigures, "lastRun">[] = [];
  for (const kind of ["task", "actor"] as const) {
    const names = declared[kind];
    if (names === undefined) continue;
    const rolled = new Map<string, Rolled>(names.map((name) => [name, emptyRolled()]));
    const { listMinutes: minutes, since } = window;
    for (const { entrypoint, ...sums } of await sumRollups(db, environmentId, { kind, minutes, since }))
      rolled.set(entrypoint, sums);
    for (const [entrypoint, sum] of rolled) found.push({ kind, entrypoint, rolled: sum });
  }
  const { filled } = await readProgress(db);
  const shown = found.toSorted(byEnded).slice(0, limit);
  return {
    ...{ window, isFilled: filled, isComplete: found.length <= limit },
    entrypoints: await withLastRuns(db, environmentId, shown),
  };
}

const endedOf = ({ rolled }: { rolled: Rolled }): number =>
  Object.values(rolled.counts).reduce((sum, count) => sum + count, 0);

type Named = { entrypoint: string; rolled: Rolled };
const byEnded = (a: Named, b: Named): number =>
  endedOf(b) - endedOf(a) || (a.entrypoint < b.entrypoint ? -1 : 1);

async function withLastRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  shown: readonly Omit<EntrypointFigures, "lastRun">[],
): Promise<EntrypointFigures[]> {
  const last = new Map<string, LastRun>();
  for (const kind of ["task", "actor"] as const) {
    const names = shown.filter((one) => one.kind === kind).map(({ entrypoint }) => entrypoint);
    if (names.length === 0) continue;
    for (const run of await listLastRuns(db, environmentId, kind, names))
      last.set(`${kind} ${run.entrypoint}`, run);
  }
  return shown.map((one) => ({ ...one, lastRun: last.get(`${one.kind} ${one.entrypoint}`) ?? null }));
}
