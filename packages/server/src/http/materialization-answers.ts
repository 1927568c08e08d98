import { isHeld } from "../core/workspaces/workspace.ts";
import { requireWorkspace } from "../core/workspaces/require-workspace.ts";
import { findWorkspace, type WorkspaceRow } from "../core/workspaces/workspace-reads.ts";
import { requestMaterialization } from "../core/materializations/request-materialization.ts";
import { stopWorkspace } from "../core/materializations/stop-materialization.ts";
import { findRequestFacts } from "../core/materializations/materialization-reads.ts";
import { requestReason } from "../core/materializations/status-reason.ts";
import { LOST_AFTER_MS } from "../core/workers/worker.ts";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { toWorkspace } from "./wire/workspace.ts";

/** Putting a workspace on a machine, and taking it off. */

const MAX_WAIT_MS = 30_000;
/** A lost wake is repaired by looking again. */
const SAFETY_READ_MS = 2_000;

/** The workspace as it is shown; `status_reason` says why what was asked for is not there yet. */
export async function answerWorkspaceItem(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  workspace: WorkspaceRow,
  status: number,
): Promise<Reply> {
  const { materializationId, materializationStatus } = workspace;
  const facts =
    materializationId === null || materializationStatus !== "requested"
      ? null
      : await findRequestFacts(server.db, environmentId, materializationId, server.clock() - LOST_AFTER_MS);
  return { status, body: toWorkspace(workspace, facts === null ? null : requestReason(facts)) };
}

async function request(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
): Promise<WorkspaceRow> {
  const workspace = await server.db.transaction((tx) =>
    requestMaterialization(tx, server.newUuid, scope.environmentId, workspaceId, server.clock()),
  );
  server.wakes.wake(wakeKeys.workspaceWork(scope.workerGroupId));
  return workspace;
}

const isLive = (workspace: WorkspaceRow): boolean => workspace.materializationStatus === "live";

export async function answerMaterialize(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
): Promise<Reply> {
  const workspace = await request(server, scope, workspaceId);
  return answerWorkspaceItem(server, scope, workspace, isLive(workspace) ? 200 : 202);
}

export async function answerConnect(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  { signal }: RequestFacts,
): Promise<Reply> {
  const requested = await request(server, scope, workspaceId);
  const first = requested.materializationId;
  const workspace = await waitFor(server, scope, workspaceId, signal, (seen) => {
    const { materializationStatus: status } = seen;
    // One that was stopping is followed by another.
    const isOver = status === "failed" || status === "stopped";
    return isLive(seen) || seen.status !== "active" || (isOver && seen.materializationId === first);
  });
  return answerWorkspaceItem(server, scope, workspace, isLive(workspace) ? 200 : 202);
}

export async function answerStop(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  { signal }: RequestFacts,
): Promise<Reply> {
  const { environmentId } = scope;
  await requireWorkspace(server.db, environmentId, workspaceId);
  const { workerId } = await server.db.transaction((tx) =>
    stopWorkspace(tx, server.newUuid, environmentId, workspaceId, server.clock()),
  );
  server.wakes.wake(wakeKeys.workspace(workspaceId));
  if (workerId !== null) server.wakes.wake(wakeKeys.workerWorkspaces(workerId));
  const workspace = await waitFor(
    server,
    scope,
    workspaceId,
    signal,
    (seen) => !isHeld(seen.materializationStatus),
  );
  return answerWorkspaceItem(server, scope, workspace, isHeld(workspace.materializationStatus) ? 202 : 200);
}

/** The workspace once it is as wanted, or after 30 s as it is then. */
async function waitFor(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  workspaceId: string,
  signal: AbortSignal,
  isWanted: (workspace: WorkspaceRow) => boolean,
): Promise<WorkspaceRow> {
  const deadline = server.clock() + MAX_WAIT_MS;
  for (;;) {
    const remainingMs = deadline - server.clock();
    const ended = new AbortController();
    const pauseMs = Math.max(0, Math.min(remainingMs, SAFETY_READ_MS));
    const until = AbortSignal.any([signal, ended.signal]);
    // Registered before the read: what changes during it wakes this again.
    const woken = server.wakes.wait(wakeKeys.workspace(workspaceId), pauseMs, until);
    try {
      const workspace = await findWorkspace(server.db, environmentId, workspaceId);
      if (workspace === null) throw notFound();
      if (isWanted(workspace) || remainingMs <= 0 || signal.aborted) return workspace;
      await woken;
    } finally {
      ended.abort();
    }
  }
}
