import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { findWorkspace } from "./workspace-reads.ts";
import { touchMaterialization } from "./workspace-writes.ts";

/** Somebody uses what runs in a workspace: it is not idle. Returns the worker that has it, if one has. */
export async function noteUse(
  tx: Tx,
  { environmentId, workspaceId }: { environmentId: Uuid<"env">; workspaceId: Uuid<"ws"> },
  now: number,
): Promise<Uuid<"wkr"> | null> {
  const workspace = await findWorkspace(tx, environmentId, workspaceId);
  if (workspace?.materializationStatus !== "live" || workspace.materializationId === null) return null;
  await touchMaterialization(tx, environmentId, workspace.materializationId, now);
  return workspace.workerId;
}

/** The same of a materialization that is locked and known to be its worker's. */
export const noteHeldUse = (
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  now: number,
): Promise<void> => touchMaterialization(tx, environmentId, materializationId, now);
