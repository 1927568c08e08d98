import type { WorkspaceStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { dropVersions } from "../versions/record-version.ts";
import type { WorkspaceRow } from "./workspace-reads.ts";
import { markWorkspace } from "./workspace-writes.ts";

/**
 * A locked workspace is to be deleted, or is. What its versions needed is collected later, where nothing else needs it.
 */
export async function markDeletion(
  tx: Tx,
  { environmentId, id }: WorkspaceRow,
  to: WorkspaceStatus,
  now: number,
): Promise<void> {
  if (to === "deleted") await dropVersions(tx, environmentId, id, now);
  await markWorkspace(tx, environmentId, id, to, now);
}
