import type { Tx } from "../../db/queryable.ts";
import { admitByKey, admitInOrder, admitKeyByKey, MOST_AT_ONCE, type Admission } from "./admission-writes.ts";
import { lockLimits } from "./queue-reads.ts";
import { insertQueues } from "./queue-writes.ts";
import { keysOf, queuesOf, type Queue, type Slot } from "./slot.ts";

/** How many runs of used-up keys are passed over at the front of a queue, before it is gone through key by key. */
const FIRST_LOOK = 8;
const SECOND_LOOK = 500;

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
  const queues = queuesOf(slots);
  const keys = keysOf(slots);
  const keyless = queuesOf(slots.filter(({ concurrencyKey }) => concurrencyKey === null));
  // Behind the locks, in one round trip: which queues have a limit in all, they see for themselves.
  const [limits, ofKeys, inOrder] = await Promise.all([
    lockLimits(tx, queues),
    keys.length === 0 ? 0 : admitByKey(tx, keys),
    keyless.length === 0 ? [] : admitInOrder(tx, keyless, FIRST_LOOK),
  ]);
  if (limits.length < queues.length) {
    await insertQueues(tx, queues);
    return ofKeys + countOf(inOrder) + (await admitQueues(tx, slots));
  }
  const seen = new Set(keyless.map(idOf));
  const unseen = limits.filter((queue) => queue.total !== null && !seen.has(idOf(queue)));
  const more = unseen.length === 0 ? [] : await admitInOrder(tx, unseen, FIRST_LOOK);
  const moreOfKeys = await untilFew(ofKeys, () => admitByKey(tx, keys));
  return ofKeys + moreOfKeys + (await admitBehind(tx, [...inOrder, ...more]));
}

/** The same for all that waits in a queue whose limits have changed. */
export async function admitQueue(tx: Tx, queue: Queue): Promise<number> {
  await lockLimits(tx, [queue]);
  return await untilFew(MOST_AT_ONCE, () => admitKeyByKey(tx, queue));
}

const idOf = ({ environmentId, queue }: Queue): string => `${environmentId} ${queue}`;

const countOf = (admissions: readonly Admission[]): number =>
  admissions.reduce((sum, { admitted }) => sum + admitted, 0);

/** @returns how many have slots in all, with those of the first look */
async function admitBehind(tx: Tx, first: readonly Admission[]): Promise<number> {
  const hasLeft = first.filter(({ isLeft }) => isLeft);
  const second = hasLeft.length === 0 ? [] : await admitInOrder(tx, hasLeft, SECOND_LOOK);
  let admitted = countOf(first) + countOf(second);
  for (const queue of second.filter(({ isLeft }) => isLeft))
    admitted += await untilFew(MOST_AT_ONCE, () => admitKeyByKey(tx, queue));
  return admitted;
}

/**
 * Repeats what gives a bounded number of slots until it gave fewer.
 *
 * @param before how many it gave before
 */
async function untilFew(before: number, admit: () => Promise<number>): Promise<number> {
  let admitted = 0;
  for (let last = before; last >= MOST_AT_ONCE; admitted += last) last = await admit();
  return admitted;
}
