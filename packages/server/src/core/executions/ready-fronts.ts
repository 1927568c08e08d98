import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import type { Clock } from "../../clock.ts";
import { firstUuidOf } from "../../uuid.ts";
import type { KnownRun, KnownRuns, RunKind } from "./known-runs.ts";
import {
  listReadyAgain,
  listReadyFronts,
  listReadyInWorkspaces,
  listReadyIsolated,
  type ReadyFront,
} from "./ready-reads.ts";

/**
 * Where the ready runs of each worker group begin, while a transaction holds an old snapshot of the database (a backup, a
 * dump, a long query). PostgreSQL then removes no dead index entries, and a claim from the front of the index steps over every
 * run that was claimed before. Ids of runs increase with time, so a claim can begin at the first run that the last look found.
 * Only that look steps over the dead entries.
 *
 * A run that becomes ready with an id before its front (delayed, limited, or committed late) is found by the next look. Of runs
 * that are resumed or retried, which become ready in any order of ids, and of those that few workers may have, a claim is given
 * the ids themselves.
 */
export type ReadyFronts = {
  /** Whether an old snapshot is held. A claim looks for itself otherwise. */
  areKnown(): boolean;
  /** Null while no old snapshot is held. */
  of(workerGroupId: Uuid<"wgrp">): Promise<KnownReady | null>;
  /** What became of the runs that a claim was given by their ids. */
  tried: KnownRuns["tried"];
  /**
   * When a claim can find what became ready before its front by `since`. Null when one can already.
   * Both are times of `performance.now()`.
   */
  nextLookAt(workerGroupId: Uuid<"wgrp">, since: number): number | null;
  /** @param isHeld whether dead rows cannot be removed */
  hold(isHeld: boolean): void;
};

/** Where a claim finds the ready runs of a worker group. */
export type KnownReady = {
  /** Of runs that have not begun. In the order of environments. */
  fronts: readonly ReadyFront[];
  /** Runs that have begun before. */
  /** The highest priority first, and in each in the order in which they are to be tried. */
  runsOf(kind: RunKind): readonly KnownRun[];
};

const LOOK_INTERVAL_MS = 1_000;
/** A group's looks take at most this share of the time. */
const LOOK_SHARE = 0.05;
/** A start whose commit comes this long after its id, or whose server's clock is behind by this, is still found at once. */
const SLACK_MS = 2_000;

type Group = {
  fronts: Map<string, ReadyFront>;
  /** When the last look began, and when the next one may. */
  lookedAt: number;
  lookAt: number;
  looking: Promise<void> | null;
};

export type ReadyFrontsOptions = {
  db: Queryable;
  clock: Clock;
  knownRuns: KnownRuns;
  /** Told when dead rows cannot be removed any more, and when they can be again. */
  noteHeld: (isHeld: boolean) => void;
};

export function createReadyFronts({ db, clock, knownRuns, noteHeld }: ReadyFrontsOptions): ReadyFronts {
  let groups: Map<string, Group> | null = null;

  const look = async (workerGroupId: Uuid<"wgrp">, group: Group): Promise<void> => {
    const begun = performance.now();
    const emptyBefore = firstUuidOf(clock() - SLACK_MS);
    let found: ReadyFront[] = [];
    await knownRuns.look(workerGroupId, async () => {
      found = await listReadyFronts(db, workerGroupId);
      const places = found.filter(({ begun }) => begun === 1).map(({ environmentId }) => environmentId);
      return [
        ...(await listReadyAgain(db, workerGroupId, [...new Set(places)])),
        ...(await listReadyInWorkspaces(db, workerGroupId)),
        ...(await listReadyIsolated(db, workerGroupId)),
      ];
    });
    // Where no run is ready now, a run that is ready later has a later id.
    for (const [key, front] of group.fronts) group.fronts.set(key, { ...front, runId: emptyBefore });
    for (const front of found.filter(({ begun }) => begun === 0))
      group.fronts.set(`${front.environmentId} ${front.priority}`, {
        ...front,
        runId: earlier(front.runId, emptyBefore),
      });
    const tookMs = performance.now() - begun;
    group.lookedAt = begun;
    group.lookAt = performance.now() + Math.max(LOOK_INTERVAL_MS, tookMs / LOOK_SHARE);
  };

  return {
    areKnown: () => groups !== null,
    of: async (workerGroupId) => {
      if (groups === null) return null;
      const group: Group = groups.get(workerGroupId) ?? {
        fronts: new Map(),
        lookedAt: 0,
        lookAt: 0,
        looking: null,
      };
      groups.set(workerGroupId, group);
      if (performance.now() >= group.lookAt)
        group.looking ??= look(workerGroupId, group).finally(() => (group.looking = null));
      if (group.looking !== null) await group.looking;
      return {
        fronts: [...group.fronts.values()].toSorted((a, b) => (a.environmentId < b.environmentId ? -1 : 1)),
        runsOf: (kind) => knownRuns.listOf(workerGroupId, kind),
      };
    },
    tried: knownRuns.tried,
    nextLookAt: (workerGroupId, since) => {
      const group = groups?.get(workerGroupId);
      return group === undefined || group.lookedAt >= since ? null : group.lookAt;
    },
    hold: (isHeld) => {
      if (isHeld !== (groups !== null)) noteHeld(isHeld);
      groups = isHeld ? (groups ?? new Map()) : null;
      knownRuns.hold(isHeld);
    },
  };
}

const earlier = (a: Uuid<"run">, b: Uuid<"run">): Uuid<"run"> => (a < b ? a : b);
