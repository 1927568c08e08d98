import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { stopMaterialization } from "./stop-materialization.ts";
import { cancelWaiting } from "../processes/release-processes.ts";
import { removeContent } from "./release-workspace.ts";
import { decideDelete, isHeld } from "../workspaces/workspace.ts";
import { lockWorkspace } from "../workspaces/workspace-reads.ts";
import { markDeletion } from "../workspaces/mark-deletion.ts";

/**
 * Deletes a workspace: at once, or when the machine that has it has let go of it. Deleting again changes nothing.
 *
 * @throws DomainError `not_found`.
 */
export async function deleteWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<void> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null) throw notFound();
  // A worker has nothing to let go of while the materialization is only requested, and what it holds uncommitted is given up.
  const { materializationStatus: status } = workspace;
  const held = isHeld(status) && status !== "requested" && status !== "uncommitted";
  const decision = decideDelete(workspace.status, held);
  if (decision.kind !== "move") return;
  tx.wake(wakeKeys.workspace(workspaceId));
  await cancelWaiting(tx, environmentId, workspaceId, now);
  await stopMaterialization(tx, newUuid, workspace, now, { isDeletion: true });
  if (decision.to === "deleted") await removeContent(tx, workspace, now);
  else await markDeletion(tx, workspace, decision.to, now);
}
