import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { decideCancel } from "../runs/run.ts";
import { applyDecision, changeOf, type Change } from "./execution.ts";
import { listTree, lockExecutions } from "./execution-reads.ts";
import { settleChanges } from "./settle-changes.ts";

/**
 * Asks for the end of runs and of all that they have started. Those that have ended, and those that are not there, are left
 * as they are. @returns the runs that were live, and of each whether nobody had asked before.
 */
export async function cancelRuns(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<Map<Uuid<"run">, boolean>> {
  const locked = await lockTrees(tx, environmentId, runIds);
  const lockedIds = new Set(locked.map(({ execution }) => execution.runId));
  const live = new Map(runIds.filter((runId) => lockedIds.has(runId)).map((runId) => [runId, false]));
  if (live.size === 0) return live;
  // What lives below a run that has ended is left alone, as when that run is cancelled alone.
  const asked =
    live.size === runIds.length ? lockedIds : new Set(await listTree(tx, environmentId, [...live.keys()]));
  const changes = locked.filter(({ execution }) => asked.has(execution.runId));
  for (const change of changes) {
    const { runId, workerId } = change.execution;
    const decision = decideCancel(change.execution.status);
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message);
    applyDecision(change, decision, now);
    if (decision.kind !== "none" && live.has(runId)) live.set(runId, true);
    if (decision.kind === "move" && workerId !== null) tx.wake(wakeKeys.worker(workerId));
  }
  await settleChanges(tx, changes);
  return live;
}

/**
 * The runs and all that they have started, as far as they are live: locked in one statement in key order, as every
 * transaction locks several. What was started while the locks were waited for is locked after that; then nobody can add any
 * more.
 */
async function lockTrees(
  tx: Tx,
  environmentId: Uuid<"env">,
  roots: readonly Uuid<"run">[],
): Promise<Change[]> {
  const changes: Change[] = [];
  const seen = new Set<string>();
  for (;;) {
    const found = (await listTree(tx, environmentId, roots)).filter((runId) => !seen.has(runId));
    if (found.length === 0) return changes;
    for (const runId of found) seen.add(runId);
    const keys = found.map((runId) => ({ environmentId, runId }));
    changes.push(...(await lockExecutions(tx, keys)).map(changeOf));
  }
}
