import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { stopMaterialization } from "../materializations/stop-materialization.ts";
import { cancelWaiting } from "../processes/release-processes.ts";
import { removeContent } from "./release-workspace.ts";
import { decideDelete, isHeld } from "./workspace.ts";
import { lockWorkspace } from "./workspace-reads.ts";
import { markWorkspace } from "./workspace-writes.ts";

/**
 * Deletes a workspace: at once, or when the machine that has it has let go of it. Deleting again changes nothing.
 *
 * @returns the worker to tell, if there is one.
 * @throws DomainError `not_found`.
 */
export async function deleteWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: string,
  workspaceId: string,
  now: number,
): Promise<{ workerId: string | null }> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null) throw notFound();
  // A worker has nothing to let go of while the materialization is only requested.
  const held = isHeld(workspace.materializationStatus) && workspace.materializationStatus !== "requested";
  const decision = decideDelete(workspace.status, held);
  if (decision.kind !== "move") return { workerId: null };
  await cancelWaiting(tx, environmentId, workspaceId, now);
  const { workerId } = await stopMaterialization(tx, newUuid, workspace, now);
  if (decision.to === "deleted") await removeContent(tx, workspace, now);
  else await markWorkspace(tx, environmentId, workspaceId, decision.to, now);
  return { workerId };
}
