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
import { findLastEpoch } from "./materialization-reads.ts";
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
  await noteActivity(tx, environmentId, workspaceId, now);
  const decision = decideRequest(workspace.materializationStatus);
  if (workspace.materializationStatus !== "live") tx.wake(wakeKeys.workspaceWork(workerGroupId));
  switch (decision.kind) {
    case "create":
      await createMaterialization(tx, newUuid, workspace, now);
      break;
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
