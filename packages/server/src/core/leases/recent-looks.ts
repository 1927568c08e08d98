import type { Uuid } from "@keelson/contract";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";

/**
 * What workers' last looks found, on this replica. A worker that was given all runs that there were for it would find nothing
 * before anybody says that there are more, and the look's statements stand in the way of those that end runs. One that found
 * nothing, and was told of nothing since, asks first whether there is anything.
 */
export type RecentLooks = {
  /** How long the worker's next look may wait, in milliseconds. */
  restMs(worker: Looker): number;
  /** Whether its last look found nothing, and nobody has said since that there may be something. */
  isUntold(worker: Looker): boolean;
  /** A look begins. @returns what is to be called when it saw all that there was. */
  begin(worker: Looker): (seen: AllSeen) => void;
};

export type AllSeen = {
  foundSome: boolean;
  /** How often the looker itself has woken the group since. Default: never. */
  ownWakes?: number;
};

type Looker = { workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> };
type Look = { at: number; woken: number; foundSome: boolean };

/** A look also finds what nobody told of, and runs whose rows somebody held before: it comes later, and not never. */
const REST_MS = 25;
/** A worker that lives polls again before: no poll is longer. */
const KEPT_MS = 60_000;

export function createRecentLooks(
  wakes: Pick<Wakes, "woken">,
  monotonic: () => number = () => performance.now(),
): RecentLooks {
  /** The oldest first. */
  const looks = new Map<Uuid<"wkr">, Look>();
  const forgetOld = (now: number): void => {
    for (const [workerId, { at }] of looks) {
      if (now - at < KEPT_MS) return;
      looks.delete(workerId);
    }
  };
  /** Of a worker that was told of nothing since. */
  const lastOf = ({ workerId, workerGroupId }: Looker): Look | null => {
    const look = looks.get(workerId);
    return look?.woken === wakes.woken(wakeKeys.work(workerGroupId)) ? look : null;
  };
  return {
    restMs: (worker) => {
      const look = lastOf(worker);
      return look === null ? 0 : Math.max(0, look.at + REST_MS - monotonic());
    },
    isUntold: (worker) => lastOf(worker)?.foundSome === false,
    begin: ({ workerId, workerGroupId }) => {
      const at = monotonic();
      const woken = wakes.woken(wakeKeys.work(workerGroupId));
      looks.delete(workerId);
      return ({ foundSome, ownWakes = 0 }) => {
        forgetOld(monotonic());
        looks.set(workerId, { at, foundSome, woken: woken + ownWakes });
      };
    },
  };
}
