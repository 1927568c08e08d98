import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { touchRunWorkspaces } from "./workspace-writes.ts";

/**
 * Runs are to be started in these workspaces by this transaction. Those that were made for a run are not deleted before it
 * ends, and stay as long after it as if they had been used now.
 */
export async function noteStartUses(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceIds: readonly Uuid<"ws">[],
  now: number,
): Promise<void> {
  if (workspaceIds.length > 0) await touchRunWorkspaces(tx, environmentId, workspaceIds, now);
}
