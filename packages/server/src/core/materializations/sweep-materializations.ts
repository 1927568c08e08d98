import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { hasRunsInWorkspace } from "../executions/execution-reads.ts";
import { hasActiveProcesses } from "../processes/process-reads.ts";
import { lockWorkspace } from "../workspaces/workspace-reads.ts";
import { endMaterialization } from "./end-materialization.ts";
import { decideLost } from "./materialization.ts";
import {
  findMaterialization,
  type MaterializationRow,
  type OverdueMaterialization,
} from "./materialization-reads.ts";
import { markMaterialization } from "./materialization-writes.ts";
import { stopMaterialization } from "./stop-materialization.ts";

/** What changed, for those who wait: the workspace's followers, its group's workers, the worker that is to stop. */
export type Swept = { workspaceId: string; workerGroupId: string; workerId: string | null };

/**
 * Takes a materialization from a worker that fell silent: others may prepare it, but what was changed live is lost with
 * the machine, and that is said. Null when the worker was heard meanwhile.
 */
export async function loseMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  overdue: OverdueMaterialization,
  now: number,
): Promise<Swept | null> {
  const materialization = await relock(tx, overdue);
  if (materialization === null) return null;
  const { environmentId, id, workspaceId, workerGroupId, leaseExpiresAt } = materialization;
  if (leaseExpiresAt === null || leaseExpiresAt >= now) return null;
  const decision = decideLost(materialization.status, materialization.lostCount);
  if (decision.kind !== "move") return null;
  const swept = { workspaceId, workerGroupId, workerId: null };
  if (decision.to === "requested") {
    const workspace = await lockWorkspace(tx, environmentId, workspaceId);
    // Nobody waits for a deleted one to be prepared by another.
    if (workspace?.status === "deleting")
      await endMaterialization(tx, newUuid, environmentId, id, { status: "stopped" }, now);
    else await markMaterialization(tx, environmentId, id, { status: "requested", lost: true }, now);
    return swept;
  }
  const error =
    materialization.status === "preparing"
      ? "Several workers were lost while they prepared the workspace. Look at the agents' logs."
      : "The worker was lost. What had changed since the last version is lost with it; the next materialization begins with that version.";
  await endMaterialization(tx, newUuid, environmentId, id, { status: "failed", error }, now);
  return swept;
}

/** Stops a live materialization in which nothing happens. Null when something did meanwhile. */
export async function stopIdleMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  idle: OverdueMaterialization,
  activeBefore: number,
  now: number,
): Promise<Swept | null> {
  const materialization = await relock(tx, idle);
  if (materialization?.status !== "live" || materialization.activeAt >= activeBefore) return null;
  if (await hasActiveProcesses(tx, idle.environmentId, idle.workspaceId)) return null;
  if (await hasRunsInWorkspace(tx, idle.environmentId, idle.workspaceId)) return null;
  const workspace = await lockWorkspace(tx, idle.environmentId, idle.workspaceId);
  if (workspace === null) return null;
  const { workerId } = await stopMaterialization(tx, newUuid, workspace, now);
  return { workspaceId: idle.workspaceId, workerGroupId: materialization.workerGroupId, workerId };
}

async function relock(
  tx: Tx,
  { environmentId, id, workspaceId }: OverdueMaterialization,
): Promise<MaterializationRow | null> {
  await lockWorkspace(tx, environmentId, workspaceId);
  return findMaterialization(tx, environmentId, id);
}
