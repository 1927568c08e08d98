import type { QueueActivity, RunActivityMinute } from "@keelson/contract";

/** Of a minute, the runs that did not end as they should: a cancelled one was someone's wish. */
export const failuresOf = ({ failed, expired, system_failed }: RunActivityMinute): number =>
  failed + expired + system_failed;

/** A sentence of a minute, for whoever points at it, listens to it or moves to it by the keyboard. */
export function describeMinute(minute: RunActivityMinute, time: string): string {
  const failures = failuresOf(minute);
  const parts = [`${minute.created} created`, `${minute.succeeded} succeeded`, `${failures} failed`];
  if (minute.cancelled > 0) parts.push(`${minute.cancelled} cancelled`);
  return `${time}: ${parts.join(", ")}`;
}

/** The smallest of 1, 2, 5, 10, 20, 50, … that is not below `value`: what the axis ends at. */
export function roundUp(value: number): number {
  for (let step = 1; ; step *= 10)
    for (const factor of [1, 2, 5]) if (step * factor >= value) return step * factor;
}

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
