import type { SandboxSpec } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { noteActivity } from "../workspaces/note-activity.ts";
import { lockActiveWorkspace } from "../workspaces/require-workspace.ts";
import { findWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { decideRequest } from "./materialization.ts";
import { findLastEpoch } from "./materialization-reads.ts";
import { insertMaterialization, markWantedAgain, touchMaterialization } from "./materialization-writes.ts";

/**
 * Somebody needs the workspace live: a materialization is requested unless there is one. One that is stopping is followed
 * by another.
 *
 * @returns the workspace with its materialization.
 * @throws DomainError `not_found`, `invalid_state` when it is being deleted.
 */
export async function requestMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: string,
  workspaceId: string,
  now: number,
): Promise<WorkspaceRow> {
  const workspace = await lockActiveWorkspace(tx, environmentId, workspaceId);
  await noteActivity(tx, environmentId, workspaceId, now);
  const decision = decideRequest(workspace.materializationStatus);
  switch (decision.kind) {
    case "create":
      await createMaterialization(tx, newUuid, workspace, now);
      break;
    case "again":
      await markWantedAgain(tx, environmentId, workspace.materializationId as string, now);
      break;
    case "none":
      await touchMaterialization(tx, environmentId, workspace.materializationId as string, now);
      // Read under the lock, and nothing else of it has changed.
      return { ...workspace, lastActivityAt: Math.max(workspace.lastActivityAt, now) };
  }
  const requested = await findWorkspace(tx, environmentId, workspaceId);
  if (requested === null) throw new Error("A workspace vanished while it was locked.");
  return requested;
}

/** A new materialization of a locked workspace that has no live one. */
export async function createMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  workspace: WorkspaceRow,
  now: number,
): Promise<void> {
  const { environmentId, id: workspaceId, currentVersionId } = workspace;
  const { isolation } = JSON.parse(workspace.sandboxSpec) as SandboxSpec;
  await insertMaterialization(tx, {
    environmentId,
    id: newUuid(),
    workspaceId,
    epoch: await findLastEpoch(tx, environmentId, workspaceId),
    requiredIsolation: isolation,
    baseVersionId: currentVersionId,
    createdAt: now,
  });
}
