import type { Uuid } from "@keelson/contract";

export type Queue = { environmentId: Uuid<"env">; queue: string };

/** A place in a queue that a run asks for or has given back. */
export type Slot = Queue & { concurrencyKey: string | null };

/** Each queue once, in the order in which they are locked. */
export function queuesOf(slots: readonly Queue[]): Queue[] {
  const queues = new Map(slots.map((slot) => [`${slot.environmentId} ${slot.queue}`, slot]));
  return [...queues].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, queue]) => queue);
}

/** Each concurrency key once; runs without one have none. */
export function keysOf(slots: readonly Slot[]): Slot[] {
  const keyed = slots.filter(({ concurrencyKey }) => concurrencyKey !== null);
  return [
    ...new Map(
      keyed.map((slot) => [JSON.stringify([slot.environmentId, slot.queue, slot.concurrencyKey]), slot]),
    ).values(),
  ];
}
