import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Watch } from "./silence-reads.ts";
import { decideDrained, type StoredWorkerStatus, type WorkerDecision } from "./worker.ts";
import {
  countLeases,
  findWorker,
  lockWorker,
  lockWorkerAfterClaims,
  type WorkerRow,
} from "./worker-reads.ts";
import { markWorker, touchWorker } from "./worker-writes.ts";

export type WorkerChange = {
  /** Null: it asks for none. */
  decide: ((status: StoredWorkerStatus) => WorkerDecision) | null;
  /** What the worker says it is using; null when it does not say. */
  inUse: { executions: number; workspaces: number } | null;
};

/**
 * A worker was heard and maybe asks for another state. Whatever it asks, a draining one that holds nothing is drained.
 *
 * @throws DomainError `not_found`, or `invalid_state` when its state does not allow the change.
 */
export async function changeWorker(
  tx: Tx,
  workerId: Uuid<"wkr">,
  { decide, inUse }: WorkerChange,
  watch: Watch,
): Promise<WorkerRow> {
  const worker = await (decide === null ? lockWorker : lockWorkerAfterClaims)(tx, workerId);
  if (worker === null) throw notFound();
  let { status } = worker;
  const follow = async (decision: WorkerDecision): Promise<void> => {
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
    if (decision.kind === "none") return;
    status = decision.to;
    await markWorker(tx, workerId, status, watch.now);
    // A long poll that waits for work looks again.
    if (status === "draining") tx.wake(wakeKeys.worker(workerId));
  };
  if (decide !== null) await follow(decide(status));
  if (status === "draining") await follow(decideDrained(status, await countLeases(tx, workerId)));
  await touchWorker(tx, workerId, inUse, watch);
  const changed = await findWorker(tx, workerId);
  if (changed === null) throw new Error("A worker vanished while it was locked.");
  return changed;
}
