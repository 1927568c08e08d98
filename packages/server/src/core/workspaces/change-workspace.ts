import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { lockActiveWorkspace } from "./require-workspace.ts";
import { updateWorkspace } from "./workspace-writes.ts";

/**
 * Replaces what a caller keeps with a workspace; null leaves it.
 *
 * @throws DomainError `not_found`, `invalid_state` when it is being deleted.
 */
export async function changeWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  change: { metadata: string | null; tags: readonly string[] | null },
  now: number,
): Promise<void> {
  await lockActiveWorkspace(tx, environmentId, workspaceId);
  await updateWorkspace(tx, environmentId, workspaceId, change, now);
}
