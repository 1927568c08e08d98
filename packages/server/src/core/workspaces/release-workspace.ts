import type { Tx } from "../../db/queryable.ts";
import { dropProcesses } from "../processes/release-processes.ts";
import { dropVersions } from "../versions/record-version.ts";
import { decideReleased } from "./workspace.ts";
import type { WorkspaceRow } from "./workspace-reads.ts";
import { markWorkspace } from "./workspace-writes.ts";

/** No machine has a locked workspace any more: a deletion that waited for it is done. */
export async function releaseWorkspace(tx: Tx, workspace: WorkspaceRow, now: number): Promise<void> {
  if (decideReleased(workspace.status).kind === "move") await removeContent(tx, workspace, now);
}

/** What it needed is collected later, where nothing else needs it. */
export async function removeContent(tx: Tx, { environmentId, id }: WorkspaceRow, now: number): Promise<void> {
  await dropProcesses(tx, environmentId, id);
  await dropVersions(tx, environmentId, id, now);
  await markWorkspace(tx, environmentId, id, "deleted", now);
}
