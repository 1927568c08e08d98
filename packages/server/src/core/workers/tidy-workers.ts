import type { Database } from "../../db/pool.ts";
import { decideDrained, WORKER_KEPT_MS } from "./worker.ts";
import { countLeases, listIdleDraining, lockWorker } from "./worker-reads.ts";
import {
  deleteExpiredTokens,
  deleteGoneWorkers,
  deleteOldLeaseRequests,
  markWorker,
} from "./worker-writes.ts";

/**
 * Marks draining workers that hold nothing any more, whoever took the last of it from them: a worker's own heartbeat is
 * not waited for, since it may have ended already.
 */
export async function finishDrains(db: Database, now: number): Promise<void> {
  for (const workerId of await listIdleDraining(db))
    await db.transaction(async (tx) => {
      const worker = await lockWorker(tx, workerId);
      if (worker === null) return;
      const decision = decideDrained(worker.status, await countLeases(tx, workerId));
      if (decision.kind === "move") await markWorker(tx, workerId, decision.to, now);
    });
}

/**
 * Drops workers that were not heard for long, and tokens that expired as long ago: they say no more who a worker was. Runs and
 * audit events that name a worker keep its id.
 */
export async function dropGoneWorkers(db: Database, now: number): Promise<void> {
  await deleteGoneWorkers(db, now - WORKER_KEPT_MS);
  await deleteExpiredTokens(db, now - WORKER_KEPT_MS);
}

/** A worker may have a few calls at once, and repeats one whose answer was lost before it makes many others. */
const KEPT_LEASE_REQUESTS = 64;

export const dropOldLeaseRequests = (db: Database): Promise<void> =>
  deleteOldLeaseRequests(db, KEPT_LEASE_REQUESTS);
