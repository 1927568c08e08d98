import type { Uuid } from "@keelson/contract";
import type { NotedRun } from "../../noted-fact.ts";

/** A run that has begun before and is ready again. */
export type ResumedRun = { environmentId: Uuid<"env">; runId: Uuid<"run">; priority: number };

/**
 * The runs that are ready again, while a transaction holds an old snapshot of the database. Their ids are in no order, so there is
 * no front in the index from which a claim could begin: it is given the ids. A server knows the runs that it made ready itself at
 * once, and those of other servers from the next look.
 */
export type ResumedRuns = {
  /** @param isHeld whether dead rows cannot be removed; nothing is remembered otherwise */
  hold(isHeld: boolean): void;
  /** Hears of what a transaction has changed, once it is durable. */
  note(runs: readonly NotedRun[]): void;
  /** Those of a worker group, the highest priority first, and in each in the order in which they are to be tried. */
  listOf(workerGroupId: Uuid<"wgrp">): ResumedRun[];
  /** What was known before the look is forgotten, but for what the look finds. */
  look(workerGroupId: Uuid<"wgrp">, find: () => Promise<ResumedRun[]>): Promise<void>;
  /** A claim was given these and took some: the others, which it may have had no room for, are tried last. */
  tried(workerGroupId: Uuid<"wgrp">, given: readonly ResumedRun[], taken: ReadonlySet<string>): void;
};

/** Of a worker group. What is beyond it is found by a look. */
const MOST_KNOWN = 10_000;

export function createResumedRuns(): ResumedRuns {
  let groups: Map<string, Map<string, ResumedRun>> | null = null;
  const runsOf = (workerGroupId: string): Map<string, ResumedRun> => {
    const runs = groups?.get(workerGroupId) ?? new Map<string, ResumedRun>();
    groups?.set(workerGroupId, runs);
    return runs;
  };
  return {
    hold: (isHeld) => {
      groups = isHeld ? (groups ?? new Map()) : null;
    },
    note: (runs) => {
      if (groups === null) return;
      for (const { execution, ending } of runs) {
        const { environmentId, runId, workerGroupId, priority } = execution;
        if (ending !== null || !execution.ready || execution.attemptNumber === 0) continue;
        const known = runsOf(workerGroupId);
        if (known.size < MOST_KNOWN) known.set(runId, { environmentId, runId, priority });
      }
    },
    listOf: (workerGroupId) =>
      [...runsOf(workerGroupId).values()].toSorted((a, b) => b.priority - a.priority),
    look: async (workerGroupId, find) => {
      const known = runsOf(workerGroupId);
      // What is noted meanwhile may be newer than what the look sees.
      const before = [...known.keys()];
      const found = await find();
      for (const runId of before) known.delete(runId);
      for (const run of found) known.set(run.runId, run);
    },
    tried: (workerGroupId, given, taken) => {
      const known = runsOf(workerGroupId);
      for (const run of given)
        if (known.delete(run.runId) && !taken.has(run.runId)) known.set(run.runId, run);
    },
  };
}
