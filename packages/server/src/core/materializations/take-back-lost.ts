import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { hasUnendedRuns } from "../executions/execution-reads.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { hasActiveProcesses } from "../processes/process-reads.ts";
import { lockWorkspace } from "../workspaces/workspace-reads.ts";
import { decideTakeBack } from "./materialization.ts";
import { findMaterialization, listLost, type MaterializationRow } from "./materialization-reads.ts";
import { markTakenBack } from "./materialization-writes.ts";

type Times = { now: number; leaseExpiresAt: number };

const TAKEN_BACK =
  "The worker was lost and has returned with the changes since the last version. It commits them now.";

/**
 * A worker found the files of what was lost with it, or with an earlier process on its folder. Where nothing has gone on
 * without them they are uncommitted from now on, and that worker's; where a run or a command goes on from the last version,
 * or somebody changed the files, they stay out of it.
 */
export async function takeBackLost(
  { db }: { db: Database },
  worker: { workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> },
  found: readonly { environmentId: Uuid<"env">; id: Uuid<"mat">; epoch: number }[],
  times: Times,
): Promise<void> {
  for (const lost of await listLost(db, worker.workerGroupId, found))
    await db.transaction((tx) => takeBack(tx, worker.workerId, lost, times));
}

async function takeBack(
  tx: Tx,
  workerId: Uuid<"wkr">,
  { environmentId, id, workspaceId }: MaterializationRow,
  { now, leaseExpiresAt }: Times,
): Promise<void> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  const lost = await findMaterialization(tx, environmentId, id);
  if (lost === null || workspace?.status !== "active") return;
  const isNewest =
    workspace.materializationId === id &&
    workspace.currentVersionId === lost.lostVersionId &&
    !(await hasActiveProcesses(tx, environmentId, workspaceId)) &&
    !(await hasUnendedRuns(tx, environmentId, workspaceId));
  if (decideTakeBack(lost.status, isNewest).kind !== "move") return;
  await markTakenBack(tx, environmentId, id, { workerId, error: TAKEN_BACK, leaseExpiresAt }, now);
  tx.wake(wakeKeys.workspace(workspaceId));
}
