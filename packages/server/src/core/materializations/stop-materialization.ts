import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { hasRunsInWorkspace } from "../executions/execution-reads.ts";
import { lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { cancelWaiting } from "../processes/release-processes.ts";
import { endMaterialization } from "./end-materialization.ts";
import { decideStop } from "./materialization.ts";
import { markMaterialization, markWantedAgain } from "./materialization-writes.ts";

/** The materialization of a locked workspace is to stop: at once while nobody has it, else its worker is told. */
export async function stopMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  workspace: WorkspaceRow,
  now: number,
  { isDeletion = false } = {},
): Promise<void> {
  const { environmentId, materializationId, materializationStatus, workerId } = workspace;
  if (materializationId === null || materializationStatus === null) return;
  tx.wake(wakeKeys.workspace(workspace.id));
  // A deletion gives up what could not be committed as well, and needs nobody for that.
  if (materializationStatus === "uncommitted" && isDeletion) {
    const ending = { status: "stopped", discarded: true } as const;
    await endMaterialization(tx, newUuid, environmentId, materializationId, ending, now);
    if (workerId !== null) tx.wake(wakeKeys.workerWorkspaces(workerId));
    return;
  }
  const decision = decideStop(materializationStatus);
  if (decision.kind !== "move") return;
  if (decision.to === "stopped") {
    await endMaterialization(tx, newUuid, environmentId, materializationId, { status: "stopped" }, now);
    return;
  }
  await markMaterialization(tx, environmentId, materializationId, { status: decision.to }, now);
  if (workerId !== null) tx.wake(wakeKeys.workerWorkspaces(workerId));
}

/**
 * Somebody wants the workspace off its machine; nothing changes when it is on none.
 *
 * @returns the materialization that is to end, or has ended; null when the workspace never had one.
 * @throws DomainError `not_found`, `workspace_busy` while a run works in it.
 */
export async function stopWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<string | null> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null) throw notFound();
  if (await hasRunsInWorkspace(tx, environmentId, workspaceId)) {
    throw new DomainError(
      "workspace_busy",
      "A run works in the workspace. Wait for its end, or cancel it; then stop the workspace.",
    );
  }
  await cancelWaiting(tx, environmentId, workspaceId, now);
  tx.wake(wakeKeys.workspace(workspaceId));
  const { materializationId, materializationStatus } = workspace;
  // It may have been asked for again since it began to stop: who stops it once more does not want that any more.
  if (materializationId !== null && materializationStatus === "stopping")
    await markWantedAgain(tx, environmentId, materializationId, false, now);
  await stopMaterialization(tx, newUuid, workspace, now);
  return materializationId;
}
