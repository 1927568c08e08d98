import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { hasRunsInWorkspace } from "../executions/execution-reads.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { hasActiveProcesses } from "../processes/process-reads.ts";
import { lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { endMaterialization } from "./end-materialization.ts";
import { decideLost } from "./materialization.ts";
import {
  findMaterialization,
  type MaterializationRow,
  type OverdueMaterialization,
} from "./materialization-reads.ts";
import { markMaterialization } from "./materialization-writes.ts";
import { stopMaterialization } from "./stop-materialization.ts";

/**
 * Takes a materialization from a worker that fell silent: others may prepare it, but what was changed live is lost with
 * the machine, and that is said. Nothing is done when the worker was heard meanwhile.
 */
export async function loseMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  overdue: OverdueMaterialization,
  now: number,
): Promise<void> {
  const materialization = await relock(tx, overdue);
  if (materialization === null) return;
  const { environmentId, id, workspaceId, leaseExpiresAt } = materialization;
  if (leaseExpiresAt === null || leaseExpiresAt >= now) return;
  const decision = decideLost(materialization.status, materialization.lostCount, materialization.kept);
  if (decision.kind !== "move") return;
  wakeAll(tx, materialization, null);
  if (decision.to === "requested" || decision.to === "uncommitted") {
    const workspace = await lockWorkspace(tx, environmentId, workspaceId);
    // Nobody waits for a deleted one to be prepared by another.
    if (workspace?.status === "deleting")
      return endMaterialization(tx, newUuid, environmentId, id, { status: "stopped" }, now);
    const mark = decision.to === "requested" ? { status: decision.to, lost: true } : { status: decision.to };
    return markMaterialization(tx, environmentId, id, mark, now);
  }
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  const failed = { status: "failed", ...describeLoss(materialization, workspace) } as const;
  await endMaterialization(tx, newUuid, environmentId, id, failed, now);
}

function describeLoss(
  { status }: MaterializationRow,
  workspace: WorkspaceRow | null,
): { error: string; lostVersionId?: Uuid<"wsv"> } {
  if (status === "preparing" || workspace === null)
    return {
      error: "Several workers were lost while they prepared the workspace. Look at the agents' logs.",
    };
  return {
    error:
      "The worker was lost, with the changes since the last version. If its agent returns before a new materialization begins, it commits them.",
    lostVersionId: workspace.currentVersionId,
  };
}

/** Stops a live materialization in which nothing happens, unless something did meanwhile. */
export async function stopIdleMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  idle: OverdueMaterialization,
  activeBefore: number,
  now: number,
): Promise<void> {
  const materialization = await relock(tx, idle);
  if (materialization?.status !== "live" || materialization.activeAt >= activeBefore) return;
  if (await hasActiveProcesses(tx, idle.environmentId, idle.workspaceId)) return;
  if (await hasRunsInWorkspace(tx, idle.environmentId, idle.workspaceId)) return;
  const workspace = await lockWorkspace(tx, idle.environmentId, idle.workspaceId);
  if (workspace === null) return;
  await stopMaterialization(tx, newUuid, workspace, now);
  wakeAll(tx, materialization, null);
}

/** The workspace's followers, its group's workers, and the worker that is to stop. */
function wakeAll(
  tx: Tx,
  { workspaceId, workerGroupId }: MaterializationRow,
  workerId: Uuid<"wkr"> | null,
): void {
  tx.wake(wakeKeys.workspace(workspaceId));
  tx.wake(wakeKeys.workspaceWork(workerGroupId));
  // Runs that waited for the worker that had it may go elsewhere.
  tx.wake(wakeKeys.work(workerGroupId));
  if (workerId !== null) tx.wake(wakeKeys.workerWorkspaces(workerId));
}

async function relock(
  tx: Tx,
  { environmentId, id, workspaceId }: OverdueMaterialization,
): Promise<MaterializationRow | null> {
  await lockWorkspace(tx, environmentId, workspaceId);
  return findMaterialization(tx, environmentId, id);
}
