import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { afterLoss, decideCancel, decideReleased } from "./processes.ts";
import { hasActiveProcesses, listActiveInWorkspace } from "./process-reads.ts";
import { deleteProcesses, markEnded, markRerun, NO_ENDING } from "./process-writes.ts";

/**
 * A materialization of a locked workspace has ended, and what ran in it with it. What waited for it waits for the next,
 * unless there will be none.
 *
 * @returns the processes that ended, and whether some wait.
 */
export async function releaseProcesses(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  ending: { status: "stopped" | "failed" | "deleted"; error?: string; wasLive?: boolean },
  now: number,
): Promise<{ ended: string[]; someWait: boolean }> {
  const ended: string[] = [];
  for (const process of await listActiveInWorkspace(tx, environmentId, workspaceId)) {
    const { kind, status } = process;
    // What never began can begin elsewhere, where the workspace was live before.
    const waits = status === "pending" && ending.status === "failed" && ending.wasLive === true;
    const decision = decideReleased(
      ...([kind, status, waits ? "stopped" : ending.status, afterLoss(process)] as const),
    );
    if (decision.kind !== "move") continue;
    if (decision.to === "pending") {
      await markRerun(tx, environmentId, process.id, now);
      continue;
    }
    const error = ending.error ?? null;
    await markEnded(tx, environmentId, process.id, { ...NO_ENDING, status: decision.to, error }, now);
    ended.push(process.id);
  }
  return { ended, someWait: await hasActiveProcesses(tx, environmentId, workspaceId) };
}

/** A workspace is to stop: what has not begun does not begin any more. */
export async function cancelWaiting(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<void> {
  for (const { id, kind, status } of await listActiveInWorkspace(tx, environmentId, workspaceId)) {
    const decision = decideCancel(kind, status);
    if (decision.kind === "move")
      await markEnded(tx, environmentId, id, { ...NO_ENDING, status: decision.to }, now);
  }
}

/** The workspace is deleted, and what ran in it is told to nobody any more. */
export const dropProcesses = (tx: Tx, environmentId: Uuid<"env">, workspaceId: Uuid<"ws">): Promise<void> =>
  deleteProcesses(tx, environmentId, workspaceId);
