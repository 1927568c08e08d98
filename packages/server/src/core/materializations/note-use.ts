import type { Tx } from "../../db/queryable.ts";
import { findWorkspace } from "../workspaces/workspace-reads.ts";
import { touchMaterialization } from "./materialization-writes.ts";

/** Somebody uses what runs in a workspace: it is not idle. Returns the worker that has it, if one has. */
export async function noteUse(
  tx: Tx,
  { environmentId, workspaceId }: { environmentId: string; workspaceId: string },
  now: number,
): Promise<string | null> {
  const workspace = await findWorkspace(tx, environmentId, workspaceId);
  if (workspace?.materializationStatus !== "live" || workspace.materializationId === null) return null;
  await touchMaterialization(tx, environmentId, workspace.materializationId, now);
  return workspace.workerId;
}
