import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { LOST_AFTER_MS, decideDrain, decideDrained } from "./worker.ts";
import { countLeases, findWorker, lockWorkerAfterClaims, type WorkerRow } from "./worker-reads.ts";
import { listIdleFirst, lockWorkerGroup } from "./drain-reads.ts";
import { markWorker } from "./worker-writes.ts";

/**
 * Someone other than the worker wants it to get no more work. It is told by its lease call or its next heartbeat, hands back
 * or finishes what it has, and ends. That it was told does not mean that it was heard.
 *
 * @returns the worker, and whether this call changed it
 * @throws DomainError `not_found`
 */
export async function drainWorker(
  tx: Tx,
  workerId: Uuid<"wkr">,
  now: number,
): Promise<{ worker: WorkerRow; changed: boolean }> {
  const worker = await lockWorkerAfterClaims(tx, workerId);
  if (worker === null) throw notFound();
  const told = decideDrain(worker.status);
  if (told.kind !== "move") return { worker, changed: false };
  const done = decideDrained(told.to, await countLeases(tx, workerId));
  await markWorker(tx, workerId, done.kind === "move" ? done.to : told.to, now);
  const drained = await findWorker(tx, workerId);
  if (drained === null) throw new Error("A worker vanished while it was locked.");
  tx.wake(wakeKeys.worker(workerId));
  return { worker: drained, changed: true };
}

/**
 * Drains workers of a group, those with the fewest leases first; lost ones are left alone, since they hold no place that work
 * could go to. Under the group's lock: two who drain at once do not count on the same workers.
 *
 * @throws DomainError `not_found`
 */
export async function drainWorkers(
  tx: Tx,
  workerGroupId: Uuid<"wgrp">,
  count: number,
  now: number,
): Promise<WorkerRow[]> {
  if (!(await lockWorkerGroup(tx, workerGroupId))) throw notFound();
  const drained: WorkerRow[] = [];
  for (const workerId of await listIdleFirst(tx, workerGroupId, now - LOST_AFTER_MS, count)) {
    const { worker, changed } = await drainWorker(tx, workerId, now);
    if (changed) drained.push(worker);
  }
  return drained;
}
