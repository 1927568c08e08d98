import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { hasRunsInWorkspace } from "../executions/execution-reads.ts";
import { lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { cancelWaiting } from "../processes/release-processes.ts";
import { endMaterialization } from "./end-materialization.ts";
import { decideStop } from "./materialization.ts";
import { markMaterialization } from "./materialization-writes.ts";

/**
 * The materialization of a locked workspace is to stop: at once while nobody has it, else its worker is told.
 *
 * @returns the worker to tell, if there is one.
 */
export async function stopMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  workspace: WorkspaceRow,
  now: number,
): Promise<{ workerId: string | null }> {
  const { environmentId, materializationId, materializationStatus, workerId } = workspace;
  if (materializationId === null || materializationStatus === null) return { workerId: null };
  const decision = decideStop(materializationStatus);
  if (decision.kind !== "move") return { workerId: null };
  if (decision.to === "stopped") {
    await endMaterialization(tx, newUuid, environmentId, materializationId, { status: "stopped" }, now);
    return { workerId: null };
  }
  await markMaterialization(tx, environmentId, materializationId, { status: decision.to }, now);
  return { workerId };
}

/**
 * Somebody wants the workspace off its machine; nothing changes when it is on none.
 *
 * @returns the worker to tell, if there is one.
 * @throws DomainError `not_found`, `workspace_busy` while a run works in it.
 */
export async function stopWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: string,
  workspaceId: string,
  now: number,
): Promise<{ workerId: string | null }> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null) throw notFound();
  if (await hasRunsInWorkspace(tx, environmentId, workspaceId)) {
    throw new DomainError(
      "workspace_busy",
      "A run works in the workspace. Wait for its end, or cancel it; then stop the workspace.",
    );
  }
  await cancelWaiting(tx, environmentId, workspaceId, now);
  return stopMaterialization(tx, newUuid, workspace, now);
}
