import type { SandboxSpec, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { noteActivity } from "../workspaces/note-activity.ts";
import { noteHeldUse } from "../workspaces/note-use.ts";
import { lockActiveWorkspace } from "../workspaces/require-workspace.ts";
import { findWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { decideRequest } from "./materialization.ts";
import { insertMaterialization, markWantedAgain } from "./materialization-writes.ts";

/** A workspace, and the group whose workers may put it on their machines. */
export type RequestedPlace = {
  environmentId: Uuid<"env">;
  workspaceId: Uuid<"ws">;
  workerGroupId: Uuid<"wgrp">;
};

/**
 * Somebody needs the workspace live: a materialization is requested unless there is one, and workers are told. One that is
 * stopping is followed by another.
 *
 * @returns the workspace with its materialization.
 * @throws DomainError `not_found`, `invalid_state` when it is being deleted, `workspace_busy` while a worker holds files of it
 * that it could not commit: they would be lost to whatever begins with the last version.
 */
export async function requestMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  { environmentId, workspaceId, workerGroupId }: RequestedPlace,
  now: number,
): Promise<WorkspaceRow> {
  const workspace = await lockActiveWorkspace(tx, environmentId, workspaceId);
  const decision = decideRequest(workspace.materializationStatus);
  if (workspace.materializationStatus !== "live") tx.wake(wakeKeys.workspaceWork(workerGroupId));
  if (decision.kind === "create") return createMaterialization(tx, newUuid, workspace, { now, isUse: true });
  await noteActivity(tx, environmentId, workspaceId, now);
  switch (decision.kind) {
    case "refuse":
      throw new DomainError("workspace_busy", decision.message, {
        materialization_status: workspace.materializationStatus,
      });
    case "again":
      await markWantedAgain(tx, environmentId, workspace.materializationId as Uuid<"mat">, true, now);
      break;
    case "none":
      await noteHeldUse(tx, environmentId, workspace.materializationId as Uuid<"mat">, now);
      // Read under the lock, and nothing else of it has changed.
      return { ...workspace, lastActivityAt: Math.max(workspace.lastActivityAt, now) };
  }
  const requested = await findWorkspace(tx, environmentId, workspaceId);
  if (requested === null) throw new Error("A workspace vanished while it was locked.");
  return requested;
}

/**
 * A new materialization of a locked workspace that has no live one. `isUse`: somebody does something with the workspace.
 *
 * @returns the workspace with it.
 */
export async function createMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  workspace: WorkspaceRow,
  { now, isUse }: { now: number; isUse: boolean },
): Promise<WorkspaceRow> {
  const { environmentId, id: workspaceId, currentVersionId } = workspace;
  const { isolation } = JSON.parse(workspace.sandboxSpec) as SandboxSpec;
  const lastActivityAt = isUse ? Math.max(workspace.lastActivityAt, now) : workspace.lastActivityAt;
  const newest = await insertMaterialization(tx, {
    environmentId,
    id: newUuid(),
    workspaceId,
    requiredIsolation: isolation,
    baseVersionId: currentVersionId,
    createdAt: now,
    lastActivityAt,
  });
  return { ...workspace, ...newest, lastActivityAt, updatedAt: now };
}
