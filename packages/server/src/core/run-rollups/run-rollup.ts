import type { TerminalRunStatus, Uuid } from "@keelson/contract";
import { addHistogram, addTo, bucketOf, type Histogram } from "../histogram.ts";

/**
 * Ended runs by minute and by hour, for each entrypoint and for all together.
 *
 * A loop counts results in the order of their numbers, in the transaction that writes how far it is: so each run is counted once,
 * whatever dies. A run counts in the minute and the hour in which it ended, however late that is known.
 */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** How many minutes a row is of. */
export const ROLLUP_MINUTES = [1, 60] as const;
export type RollupMinutes = (typeof ROLLUP_MINUTES)[number];

/** How long rows are kept, by how many minutes they are of. */
export const ROLLUPS_KEPT_MS: Readonly<Record<RollupMinutes, number>> = {
  1: 48 * HOUR_MS,
  60: 35 * 24 * HOUR_MS,
};

export type RolledKind = "all" | "task" | "actor";

export type RollupKey = {
  environmentId: Uuid<"env">;
  minutes: RollupMinutes;
  entrypointKind: RolledKind;
  entrypoint: string;
  /** When it begins, in milliseconds. */
  at: number;
};

export const OUTCOMES = ["succeeded", "failed", "cancelled", "expired", "systemFailed"] as const;
export type OutcomeCounts = Record<(typeof OUTCOMES)[number], number>;

const outcomeOf = (status: TerminalRunStatus): keyof OutcomeCounts =>
  status === "system_failed" ? "systemFailed" : status;

export type Rolled = { counts: OutcomeCounts; queueTimes: Histogram; durations: Histogram };
export type RunRollup = RollupKey & Rolled;

/** A run as it is counted. Times are milliseconds. */
export type EndedRun = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  status: TerminalRunStatus;
  /** When it was to start: when it was created, or when its delay was over. */
  dueAt: number;
  /** The first attempt; null when there was none. */
  startedAt: number | null;
  finishedAt: number;
};

export const emptyRolled = (): Rolled => ({
  counts: { succeeded: 0, failed: 0, cancelled: 0, expired: 0, systemFailed: 0 },
  queueTimes: new Map(),
  durations: new Map(),
});

export const rollupKeyOf = ({ environmentId, minutes, entrypointKind, entrypoint, at }: RollupKey): string =>
  `${environmentId} ${minutes} ${entrypointKind} ${at} ${entrypoint}`;

export const beginningOf = (ms: number, minutes: RollupMinutes): number => {
  const width = minutes * MINUTE_MS;
  return Math.floor(ms / width) * width;
};

export function addRolled(to: Rolled, added: Rolled): void {
  for (const outcome of OUTCOMES) to.counts[outcome] += added.counts[outcome];
  addHistogram(to.queueTimes, added.queueTimes);
  addHistogram(to.durations, added.durations);
}

/** The rows that a run of an entrypoint counts in when it ends in that minute. */
function keysOf(
  { environmentId, entrypointKind, entrypoint }: EndedRun,
  minute: number,
  now: number | null,
): RollupKey[] {
  return ROLLUP_MINUTES.flatMap((minutes): RollupKey[] => {
    const at = beginningOf(minute, minutes);
    if (now !== null && !(at >= now - ROLLUPS_KEPT_MS[minutes])) return [];
    const row = { environmentId, minutes, at };
    return [
      { ...row, entrypointKind, entrypoint },
      { ...row, entrypointKind: "all", entrypoint: "" },
    ];
  });
}

function addRun(to: readonly Rolled[], { status, dueAt, startedAt, finishedAt }: EndedRun): void {
  const outcome = outcomeOf(status);
  const queueTime = startedAt === null ? null : bucketOf(startedAt - dueAt);
  const duration = startedAt === null ? null : bucketOf(finishedAt - startedAt);
  for (const { counts, queueTimes, durations } of to) {
    counts[outcome] += 1;
    if (queueTime !== null) addTo(queueTimes, queueTime, 1);
    if (duration !== null) addTo(durations, duration, 1);
  }
}

/**
 * What the runs add, each row once. What would be dropped at once is left out.
 *
 * @param now null: the time is not certain, and nothing is left out.
 */
export function rollUp(runs: readonly EndedRun[], now: number | null): RunRollup[] {
  const rollups = new Map<string, RunRollup>();
  const rollupOf = (key: RollupKey): RunRollup => {
    const name = rollupKeyOf(key);
    const known = rollups.get(name);
    if (known !== undefined) return known;
    const made = { ...key, ...emptyRolled() };
    rollups.set(name, made);
    return made;
  };
  // Most runs of a batch are of few entrypoints and minutes.
  const together = new Map<string, RunRollup[]>();
  for (const run of runs) {
    const minute = beginningOf(run.finishedAt, 1);
    const name = `${run.environmentId} ${minute} ${run.entrypointKind} ${run.entrypoint}`;
    let rows = together.get(name);
    if (rows === undefined) {
      rows = keysOf(run, minute, now).map(rollupOf);
      together.set(name, rows);
    }
    addRun(rows, run);
  }
  return [...rollups.values()];
}
