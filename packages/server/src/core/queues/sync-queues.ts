import type { QueueDeclaration, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { admitQueue } from "./admit-limited-runs.ts";
import { writeLimits } from "./queue-writes.ts";

/**
 * Puts the declared limits in force. A queue that was declared before and is no longer gets the limits of an undeclared
 * one: none in all, one run a concurrency key. Runs that wait for a slot of a changed queue are admitted by its new limits;
 * runs that have started keep theirs.
 *
 * @returns the number of runs that became ready.
 */
export async function syncQueues(
  tx: Tx,
  environmentId: Uuid<"env">,
  declared: readonly QueueDeclaration[],
): Promise<number> {
  const changed = await writeLimits(tx, environmentId, declared);
  let admitted = 0;
  for (const name of changed) admitted += await admitQueue(tx, { environmentId, queue: name });
  return admitted;
}
