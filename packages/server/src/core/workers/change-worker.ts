import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Watch } from "./silence-reads.ts";
import { decideDrained, type StoredWorkerStatus, type WorkerDecision } from "./worker.ts";
import { countLeases, findWorker, lockWorkerAfterClaims, type WorkerRow } from "./worker-reads.ts";
import { markWorker, touchWorker } from "./worker-writes.ts";

/**
 * A worker was heard and asks for another state. One that drains and holds nothing is drained.
 *
 * @throws DomainError `not_found`, or `invalid_state` when its state does not allow the change.
 */
export async function changeWorker(
  tx: Tx,
  workerId: Uuid<"wkr">,
  decide: (status: StoredWorkerStatus) => WorkerDecision,
  watch: Watch,
): Promise<WorkerRow> {
  const worker = await lockWorkerAfterClaims(tx, workerId);
  if (worker === null) throw notFound();
  const { status } = worker;
  const decision = decide(status);
  if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
  if (decision.kind === "move") {
    await markWorker(tx, workerId, decision.to, watch.now);
    // A long poll that waits for work looks again.
    if (decision.to === "draining") tx.wake(wakeKeys.worker(workerId));
  }
  return hearWorker(tx, workerId, null, watch);
}

/**
 * A worker was heard. Its claims go on beside it.
 *
 * @param inUse what it says that it is using; null when it does not say
 * @throws DomainError `not_found`
 */
export async function hearWorker(
  tx: Tx,
  workerId: Uuid<"wkr">,
  inUse: { executions: number; workspaces: number } | null,
  watch: Watch,
): Promise<WorkerRow> {
  const worker = await touchWorker(tx, workerId, inUse, watch);
  if (worker === null) throw notFound();
  if (worker.status !== "draining") return worker;
  const decision = decideDrained(worker.status, await countLeases(tx, workerId));
  if (decision.kind !== "move") return worker;
  await markWorker(tx, workerId, decision.to, watch.now);
  return (await findWorker(tx, workerId)) ?? worker;
}
