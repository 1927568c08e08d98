import type { QueueActivity, RunActivityMinute } from "@keelson/contract";

/** Of a minute, the runs that did not end as they should: a cancelled one was someone's wish. */
export const failuresOf = ({ failed, expired, system_failed }: RunActivityMinute): number =>
  failed + expired + system_failed;

export type LiveSums = {
  queued: number;
  delayed: number;
  running: number;
  waiting: number;
  oldestQueuedAt: string | null;
};

/** All queues as one. */
export function sumQueues(queues: readonly QueueActivity[]): LiveSums {
  const sums: LiveSums = { queued: 0, delayed: 0, running: 0, waiting: 0, oldestQueuedAt: null };
  for (const { queued, delayed, running, waiting, oldest_queued_at: oldest } of queues) {
    sums.queued += queued;
    sums.delayed += delayed;
    sums.running += running;
    sums.waiting += waiting;
    // Of one form, so that their order as texts is their order in time.
    if (oldest !== null && (sums.oldestQueuedAt === null || oldest < sums.oldestQueuedAt))
      sums.oldestQueuedAt = oldest;
  }
  return sums;
}
