import type { Uuid } from "@keelson/contract";
import {
  requestReason,
  silentReason,
  uncommittedReason,
} from "../../../core/materializations/status-reason.ts";
import { findRequestFacts } from "../../../core/materializations/materialization-reads.ts";
import { hasBeenHeard } from "../../../core/workers/worker-reads.ts";
import { LOST_AFTER_MS } from "../../../core/workers/worker.ts";
import { findWorkspace, type WorkspaceRow } from "../../../core/workspaces/workspace-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import type { Reply } from "../../edge/route.ts";
import { toWorkspace } from "./wire.ts";

/** The workspace as it is shown; `status_reason` says why what was asked for is not there yet. */
export async function workspaceReply(
  db: Queryable,
  workspace: WorkspaceRow,
  now: number,
  status = 200,
): Promise<Reply> {
  const { environmentId, materializationId, materializationStatus } = workspace;
  if (materializationStatus === "uncommitted") {
    const heard = await hasBeenHeard(db, workspace.workerId, now - LOST_AFTER_MS);
    return { status, body: toWorkspace(workspace, uncommittedReason(workspace, heard)) };
  }
  if (isSilent(workspace, now)) return { status, body: toWorkspace(workspace, silentReason(workspace)) };
  const facts =
    materializationId === null || materializationStatus !== "requested"
      ? null
      : await findRequestFacts(db, environmentId, materializationId, now - LOST_AFTER_MS);
  return { status, body: toWorkspace(workspace, facts === null ? null : requestReason(facts)) };
}

const isSilent = ({ materializationStatus, leaseExpiresAt }: WorkspaceRow, now: number): boolean =>
  (materializationStatus === "preparing" ||
    materializationStatus === "live" ||
    materializationStatus === "stopping") &&
  leaseExpiresAt !== null &&
  leaseExpiresAt < now;

/** @throws DomainError `not_found` unless the environment has, or had, the workspace. */
export async function findShown(
  db: Queryable,
  { environmentId }: { environmentId: Uuid<"env"> },
  workspaceId: Uuid<"ws">,
): Promise<WorkspaceRow> {
  const workspace = await findWorkspace(db, environmentId, workspaceId);
  if (workspace === null) throw notFound();
  return workspace;
}
