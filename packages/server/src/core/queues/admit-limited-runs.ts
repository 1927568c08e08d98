import type { Tx } from "../../db/queryable.ts";
import { admitByKey, admitInOrder, admitKeyByKey, MOST_AT_ONCE } from "./admission-writes.ts";
import { lockLimits, type Limits } from "./queue-reads.ts";
import { insertQueues } from "./queue-writes.ts";
import { keysOf, queuesOf, type Queue, type Slot } from "./slot.ts";

/** How many runs of used-up keys are passed over at the front of a queue, before it is gone through key by key. */
const LOOKS = [8, 500];

/**
 * Gives free slots of limited queues to the runs that wait for one, highest priority first. Called whenever limited runs
 * enter their queues or give their slots back, in that transaction. The locks of the queues' rows make the admissions of one
 * queue follow one another.
 *
 * Where only concurrency keys limit a queue, a slot can go to a run of its own key alone. Where the queue has a limit in
 * all, it goes to the first run whose key is not used up: it is nearly always among the first.
 *
 * @returns the number of runs that became ready.
 */
export async function admitQueues(tx: Tx, slots: readonly Slot[]): Promise<number> {
  const limits = await lockQueues(tx, queuesOf(slots));
  const byKeyAlone = new Set(limits.filter(({ total }) => total === null).map(idOf));
  const isByKey = (slot: Slot): boolean => slot.concurrencyKey !== null && byKeyAlone.has(idOf(slot));
  const keys = keysOf(slots.filter(isByKey));
  const inOrder = queuesOf(slots.filter((slot) => !isByKey(slot)));
  return (await untilFew(keys.length, () => admitByKey(tx, keys))) + (await admitFirst(tx, inOrder));
}

/** The same for all that waits in a queue whose limits have changed. */
export async function admitQueue(tx: Tx, queue: Queue): Promise<number> {
  await lockQueues(tx, [queue]);
  return await untilFew(1, () => admitKeyByKey(tx, queue));
}

const idOf = ({ environmentId, queue }: Queue): string => `${environmentId} ${queue}`;

/** Makes the rows of queues that nobody has declared. */
async function lockQueues(tx: Tx, queues: readonly Queue[]): Promise<Limits[]> {
  const limits = await lockLimits(tx, queues);
  if (limits.length === queues.length) return limits;
  await insertQueues(tx, queues);
  return await lockLimits(tx, queues);
}

async function admitFirst(tx: Tx, queues: readonly Queue[]): Promise<number> {
  let admitted = 0;
  let left = queues;
  for (const look of LOOKS) {
    if (left.length === 0) return admitted;
    const admissions = await admitInOrder(tx, left, look);
    for (const admission of admissions) admitted += admission.admitted;
    left = admissions.filter(({ isLeft }) => isLeft);
  }
  for (const queue of left) admitted += await untilFew(1, () => admitKeyByKey(tx, queue));
  return admitted;
}

/** Repeats what gives a bounded number of slots until it gave fewer. */
async function untilFew(count: number, admit: () => Promise<number>): Promise<number> {
  let admitted = 0;
  for (let last = count === 0 ? 0 : MOST_AT_ONCE; last >= MOST_AT_ONCE; admitted += last)
    last = await admit();
  return admitted;
}
