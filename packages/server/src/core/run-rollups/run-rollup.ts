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

/** Ended runs that count alike. */
export type RunGroup = Pick<EndedRun, "environmentId" | "entrypointKind" | "entrypoint" | "status"> & {
  /** When the minute begins in which they ended. */
  minute: number;
  /** Of their time in the queue, and of their duration; null when they never started. */
  queueBucket: number | null;
  durationBucket: number | null;
  /** How many they are. */
  runs: number;
};

export const groupOf = ({ dueAt, startedAt, finishedAt, ...run }: EndedRun): RunGroup => ({
  ...run,
  minute: beginningOf(finishedAt, 1),
  queueBucket: startedAt === null ? null : bucketOf(startedAt - dueAt),
  durationBucket: startedAt === null ? null : bucketOf(finishedAt - startedAt),
  runs: 1,
});

/** The rows that runs of an entrypoint count in when they end in that minute. */
function keysOf(
  { environmentId, entrypointKind, entrypoint, minute }: RunGroup,
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

function addGroup(to: readonly Rolled[], { status, queueBucket, durationBucket, runs }: RunGroup): void {
  const outcome = outcomeOf(status);
  for (const { counts, queueTimes, durations } of to) {
    counts[outcome] += runs;
    if (queueBucket !== null) addTo(queueTimes, queueBucket, runs);
    if (durationBucket !== null) addTo(durations, durationBucket, runs);
  }
}

/**
 * What the runs add, each row once. What would be dropped at once is left out.
 *
 * @param now null: the time is not certain, and nothing is left out.
 */
export function rollUp(groups: readonly RunGroup[], now: number | null): RunRollup[] {
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
  for (const group of groups) {
    const { environmentId, minute, entrypointKind, entrypoint } = group;
    const name = `${environmentId} ${minute} ${entrypointKind} ${entrypoint}`;
    let rows = together.get(name);
    if (rows === undefined) {
      rows = keysOf(group, now).map(rollupOf);
      together.set(name, rows);
    }
    addGroup(rows, group);
  }
  return [...rollups.values()];
}
