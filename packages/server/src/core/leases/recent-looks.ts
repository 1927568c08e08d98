import type { Uuid } from "@keelson/contract";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";

/**
 * Which workers need not look for runs as they poll again, on this replica. A worker that was given all runs that there were for it
 * would find nothing before anybody says that there are more, and the look's statements stand in the way of those that end runs.
 */
export type RecentLooks = {
  /** How long the worker's next look may wait, in milliseconds. */
  restMs(worker: Looker): number;
  /**
   * A look begins. @returns what is to be called when it found all that there was, with how often the looker itself has woken
   * the group since.
   */
  begin(worker: Looker): (ownWakes?: number) => void;
};

type Looker = { workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> };

/** A look also finds what nobody told of, and runs whose rows somebody held before: it comes later, and not never. */
const REST_MS = 25;

export function createRecentLooks(
  wakes: Pick<Wakes, "woken">,
  monotonic: () => number = () => performance.now(),
): RecentLooks {
  /** The oldest first. */
  const looks = new Map<Uuid<"wkr">, { at: number; woken: number }>();
  const forgetOld = (now: number): void => {
    for (const [workerId, { at }] of looks) {
      if (now - at < REST_MS) return;
      looks.delete(workerId);
    }
  };
  return {
    restMs: ({ workerId, workerGroupId }) => {
      const look = looks.get(workerId);
      if (look === undefined || look.woken !== wakes.woken(wakeKeys.work(workerGroupId))) return 0;
      return Math.max(0, look.at + REST_MS - monotonic());
    },
    begin: ({ workerId, workerGroupId }) => {
      const look = { at: monotonic(), woken: wakes.woken(wakeKeys.work(workerGroupId)) };
      looks.delete(workerId);
      return (ownWakes = 0) => {
        forgetOld(monotonic());
        looks.set(workerId, { ...look, woken: look.woken + ownWakes });
      };
    },
  };
}
