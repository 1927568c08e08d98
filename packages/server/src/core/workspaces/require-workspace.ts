import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { decideUse, isHeld } from "./workspace.ts";
import { findWorkspace, lockWorkspace, type WorkspaceRow } from "./workspace-reads.ts";

/** @throws DomainError `not_found` unless the workspace is the environment's and has not been deleted. */
export async function requireWorkspace(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<WorkspaceRow> {
  const workspace = await findWorkspace(db, environmentId, workspaceId);
  if (workspace === null || workspace.status === "deleted") throw notFound();
  return workspace;
}

/**
 * Locks a workspace that is to be used.
 *
 * @throws DomainError `not_found`, `invalid_state` when it is being deleted.
 */
export async function lockActiveWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<WorkspaceRow> {
  const workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null || workspace.status === "deleted") throw notFound();
  requireUsable(workspace);
  return workspace;
}

/** @throws DomainError `invalid_state` when it is being deleted. */
export function requireUsable({ status }: WorkspaceRow): void {
  const decision = decideUse(status);
  if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
}

/** @throws DomainError `workspace_busy` when the files are a worker's to change. */
export function requireIdle({ materializationStatus: status }: WorkspaceRow): void {
  if (!isHeld(status)) return;
  throw new DomainError(
    "workspace_busy",
    status === "uncommitted"
      ? "A worker holds files of the workspace that it could not commit. Recover or discard them first."
      : "The workspace is on a machine, and its files are changed there. Stop it first, or change them by an exec.",
    { materialization_status: status },
  );
}
