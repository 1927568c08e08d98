import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { releaseProcesses } from "../processes/release-processes.ts";
import { releaseWorkspace } from "./release-workspace.ts";
import { lockWorkspace } from "../workspaces/workspace-reads.ts";
import { findMaterialization } from "./materialization-reads.ts";
import { markMaterialization } from "./materialization-writes.ts";
import { createMaterialization } from "./request-materialization.ts";

/**
 * Ends a materialization of a locked workspace, and does what waited for that: a deletion goes on, and a workspace that
 * is wanted again gets the next materialization.
 */
export async function endMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  ending:
    | { status: "stopped"; discarded?: boolean }
    | { status: "failed"; error: string; lostVersionId?: Uuid<"wsv"> },
  now: number,
): Promise<void> {
  const materialization = await findMaterialization(tx, environmentId, materializationId);
  if (materialization === null) throw new Error("A materialization vanished while its workspace was locked.");
  await markMaterialization(tx, environmentId, materializationId, ending, now);
  const workspace = await lockWorkspace(tx, environmentId, materialization.workspaceId);
  if (workspace === null) throw new Error("A workspace vanished while it was locked.");
  const { wantedAgain, startedAt } = materialization;
  if (workspace.status === "deleting") {
    await releaseProcesses(tx, environmentId, workspace.id, { status: "deleted" }, now);
    return releaseWorkspace(tx, workspace, now);
  }
  const wasLive = startedAt !== null;
  const { someWait } = await releaseProcesses(tx, environmentId, workspace.id, { ...ending, wasLive }, now);
  // What waits to be started does so in the next one, unless this one could not even be prepared.
  const isCarriedOn = wantedAgain || (someWait && (ending.status === "stopped" || wasLive));
  if (isCarriedOn) await createMaterialization(tx, newUuid, workspace, { now, isUse: false });
}
