import type { Isolation, Uuid } from "@keelson/contract";
import type { NotedRun, NotedStart } from "../../noted-fact.ts";

/** A run that is ready. */
export type KnownRun = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  priority: number;
  workspaceId: Uuid<"ws"> | null;
  requiredIsolation: Isolation | null;
};

/** Where runs are claimed by different statements: those that any worker may have, those in workspaces, those that need an isolation. */
export type RunKind = "anywhere" | "inWorkspace" | "isolated";

/**
 * Ready runs by their ids, while a transaction holds an old snapshot of the database. Where their ids are in no order, as of those
 * that have begun before, there is no front in the index from which a claim could begin; of those in workspaces, and of isolated
 * ones, there are few, and a claim that asks for them steps over all there were. It is given the ids. A server knows the runs
 * that it made ready itself at once, and those of other servers from the next look.
 */
export type KnownRuns = {
  /** @param isHeld whether dead rows cannot be removed; nothing is remembered otherwise */
  hold(isHeld: boolean): void;
  /** Hears of what a transaction has changed, once it is durable. */
  note(runs: readonly NotedRun[]): void;
  /** Hears of runs that were started and are ready, once they are durable. */
  noteStarts(runs: readonly NotedStart[]): void;
  /** Those of a worker group, the highest priority first, and in each in the order in which they are to be tried. */
  listOf(workerGroupId: Uuid<"wgrp">, kind: RunKind): KnownRun[];
  /** What was known before the look is forgotten, but for what the look finds. */
  look(workerGroupId: Uuid<"wgrp">, find: () => Promise<KnownRun[]>): Promise<void>;
  /** A claim was given these and took some: the others, which it may have had no room for, are tried last. */
  tried(workerGroupId: Uuid<"wgrp">, given: readonly KnownRun[], taken: ReadonlySet<string>): void;
};

/** Of a worker group and a kind. What is beyond it is found by a look. */
const MOST_KNOWN = 10_000;

type Kinds = Record<RunKind, Map<string, KnownRun>>;

const noneKnown = (): Kinds => ({ anywhere: new Map(), inWorkspace: new Map(), isolated: new Map() });

export function createKnownRuns(): KnownRuns {
  let groups: Map<string, Kinds> | null = null;
  const kindsOf = (workerGroupId: string): Kinds => {
    const kinds = groups?.get(workerGroupId) ?? noneKnown();
    groups?.set(workerGroupId, kinds);
    return kinds;
  };
  const add = (workerGroupId: string, run: KnownRun): void => {
    const known = kindsOf(workerGroupId)[kindOf(run)];
    if (known.size < MOST_KNOWN) known.set(run.runId, run);
  };
  return {
    hold: (isHeld) => {
      groups = isHeld ? (groups ?? new Map()) : null;
    },
    note: (runs) => {
      if (groups === null) return;
      for (const { execution, ending } of runs) {
        if (ending !== null || !execution.ready) continue;
        const { environmentId, runId, workerGroupId, priority, workspaceId, requiredIsolation } = execution;
        const run = { environmentId, runId, priority, workspaceId, requiredIsolation };
        if (execution.attemptNumber > 0 || kindOf(run) !== "anywhere") add(workerGroupId, run);
      }
    },
    noteStarts: (runs) => {
      if (groups === null) return;
      for (const { id: runId, environmentId, workerGroupId, priority, links, requiredIsolation } of runs) {
        const run = { environmentId, runId, priority, workspaceId: links.workspaceId, requiredIsolation };
        if (kindOf(run) !== "anywhere") add(workerGroupId, run);
      }
    },
    listOf: (workerGroupId, kind) =>
      [...kindsOf(workerGroupId)[kind].values()].toSorted((a, b) => b.priority - a.priority),
    look: async (workerGroupId, find) => {
      const kinds = Object.values(kindsOf(workerGroupId));
      // What is noted meanwhile may be newer than what the look sees.
      const before = kinds.map((known) => [...known.keys()]);
      const found = await find();
      for (const [at, known] of kinds.entries()) for (const runId of before[at] ?? []) known.delete(runId);
      for (const run of found) add(workerGroupId, run);
    },
    tried: (workerGroupId, given, taken) => {
      const kinds = kindsOf(workerGroupId);
      for (const run of given) {
        const known = kinds[kindOf(run)];
        if (known.delete(run.runId) && !taken.has(run.runId)) known.set(run.runId, run);
      }
    },
  };
}

const kindOf = ({ workspaceId, requiredIsolation }: KnownRun): RunKind => {
  if (workspaceId !== null) return "inWorkspace";
  return requiredIsolation === null ? "anywhere" : "isolated";
};
