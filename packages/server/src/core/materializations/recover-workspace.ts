import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { endMaterialization } from "./end-materialization.ts";
import { decideDiscard, decideRecover, type MaterializationDecision } from "./materialization.ts";
import { findMaterialization } from "./materialization-reads.ts";
import { markRecovering } from "./materialization-writes.ts";

type Held = { workspace: WorkspaceRow; materializationId: Uuid<"mat">; kept: boolean };

async function lockKept(tx: Tx, environmentId: Uuid<"env">, workspaceId: Uuid<"ws">): Promise<Held> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null || workspace.status === "deleted") throw notFound();
  const { materializationId } = workspace;
  const materialization =
    materializationId === null ? null : await findMaterialization(tx, environmentId, materializationId);
  if (materialization === null) throw nothingKept("No worker holds uncommitted files of the workspace.");
  return { workspace, materializationId: materialization.id, kept: materialization.kept };
}

/** Whoever waits for the workspace, and the worker that has its files. */
function wakeHolder(tx: Tx, { id, workerId }: WorkspaceRow): void {
  tx.wake(wakeKeys.workspace(id));
  if (workerId !== null) tx.wake(wakeKeys.workerWorkspaces(workerId));
}

const nothingKept = (message: string): DomainError => new DomainError("invalid_state", message);

function requireAllowed(decision: MaterializationDecision): decision is { kind: "move"; to: "stopping" } {
  if (decision.kind === "refuse") throw nothingKept(decision.message);
  return decision.kind === "move";
}

/**
 * The worker that holds files of a workspace that it could not commit is to try again now. While it tries already, nothing
 * changes.
 *
 * @returns the materialization whose files are to be committed.
 * @throws DomainError `not_found`; `invalid_state` when no worker holds such files.
 */
export async function recoverWorkspace(
  tx: Tx,
  place: { environmentId: Uuid<"env">; workspaceId: Uuid<"ws"> },
  now: number,
  leaseExpiresAt: number,
): Promise<string> {
  const { environmentId, workspaceId } = place;
  const { workspace, materializationId } = await lockKept(tx, environmentId, workspaceId);
  const status = workspace.materializationStatus ?? "stopped";
  if (requireAllowed(decideRecover(status)))
    await markRecovering(tx, environmentId, materializationId, now, leaseExpiresAt);
  wakeHolder(tx, workspace);
  return materializationId;
}

/**
 * Gives up the files that a worker could not commit: the workspace goes on from its last version. It needs no worker: one
 * that is there, or comes back, is told to remove them, and what it still commits is refused.
 *
 * @throws DomainError `not_found`; `invalid_state` when no worker holds such files.
 */
export async function discardWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  place: { environmentId: Uuid<"env">; workspaceId: Uuid<"ws">; workerGroupId: Uuid<"wgrp"> },
  now: number,
): Promise<void> {
  const { environmentId, workspaceId, workerGroupId } = place;
  const { workspace, materializationId, kept } = await lockKept(tx, environmentId, workspaceId);
  requireAllowed(decideDiscard(workspace.materializationStatus ?? "stopped", kept));
  const ending = { status: "stopped", discarded: true } as const;
  await endMaterialization(tx, newUuid, environmentId, materializationId, ending, now);
  wakeHolder(tx, workspace);
  tx.wake(wakeKeys.workspaceWork(workerGroupId));
  // Runs that waited for what was held may begin.
  tx.wake(wakeKeys.work(workerGroupId));
}
