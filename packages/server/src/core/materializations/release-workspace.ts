import type { Tx } from "../../db/queryable.ts";
import { dropProcesses } from "../processes/release-processes.ts";
import { markDeletion } from "../workspaces/mark-deletion.ts";
import { decideReleased } from "../workspaces/workspace.ts";
import type { WorkspaceRow } from "../workspaces/workspace-reads.ts";

/** No machine has a locked workspace any more: a deletion that waited for it is done. */
export async function releaseWorkspace(tx: Tx, workspace: WorkspaceRow, now: number): Promise<void> {
  if (decideReleased(workspace.status).kind === "move") await removeContent(tx, workspace, now);
}

export async function removeContent(tx: Tx, workspace: WorkspaceRow, now: number): Promise<void> {
  await dropProcesses(tx, workspace.environmentId, workspace.id);
  await markDeletion(tx, workspace, "deleted", now);
}
