import { DiscardWorkspace, Workspace, type Uuid } from "@keelson/contract";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import { waitUntil } from "../../../core/feeds/wait-until.ts";
import { discardWorkspace, recoverWorkspace } from "../../../core/materializations/recover-workspace.ts";
import { requestMaterialization } from "../../../core/materializations/request-materialization.ts";
import { stopWorkspace } from "../../../core/materializations/stop-materialization.ts";
import { requireWorkspace } from "../../../core/workspaces/require-workspace.ts";
import { isHeld } from "../../../core/workspaces/workspace.ts";
import type { WorkspaceRow } from "../../../core/workspaces/workspace-reads.ts";
import type { Tx } from "../../../db/queryable.ts";
import type { ServerContext } from "../../../server-context.ts";
import { Id } from "../../edge/params.ts";
import {
  route,
  type EnvironmentScope,
  type Reply,
  type RequestFacts,
  type RouteDefinition,
} from "../../edge/route.ts";
import { findShown, workspaceReply } from "./describe-workspace.ts";
import { EXAMPLE_WORKSPACE } from "./examples.ts";

/** Putting a workspace on a machine, taking it off, and what a machine could not commit. */

const tag = "Workspaces";
const write = { kind: "environment", permission: "workspaces.write" } as const;
const remove = { kind: "environment", permission: "workspaces.delete" } as const;
const WorkspaceParams = { workspace_id: Id("ws") };
const MAX_WAIT_MS = 30_000;

const requestLive = (
  tx: Tx,
  { newUuid, clock }: ServerContext,
  { environmentId, workerGroupId }: EnvironmentScope,
  workspaceId: Uuid<"ws">,
): Promise<WorkspaceRow> =>
  requestMaterialization(tx, newUuid, { environmentId, workspaceId, workerGroupId }, clock());

/** The workspace once it is as wanted, or after 30 s as it is then. */
const waitFor = (
  server: ServerContext,
  { environmentId, id }: Pick<WorkspaceRow, "environmentId" | "id">,
  { signal }: RequestFacts,
  isWanted: (workspace: WorkspaceRow) => boolean,
): Promise<WorkspaceRow> =>
  waitUntil(server, wakeKeys.workspace(id), () => findShown(server.db, { environmentId }, id), isWanted, {
    waitMs: MAX_WAIT_MS,
    signal,
  });

const isLive = (workspace: WorkspaceRow): boolean => workspace.materializationStatus === "live";

/** What was asked for is live, or will not be. One that was stopping is followed by another. */
const isConnected =
  ({ materializationId: first }: WorkspaceRow) =>
  (seen: WorkspaceRow): boolean => {
    const { materializationStatus: status } = seen;
    const isOver = status === "failed" || status === "stopped" || status === "uncommitted";
    return isLive(seen) || seen.status !== "active" || (isOver && seen.materializationId === first);
  };

async function connectedReply(
  server: ServerContext,
  requested: WorkspaceRow,
  request: RequestFacts,
): Promise<Reply> {
  const workspace = await waitFor(server, requested, request, isConnected(requested));
  return workspaceReply(server.db, workspace, server.clock(), isLive(workspace) ? 200 : 202);
}

/**
 * Waits until the worker has ended that materialization, or says that it keeps what it could not commit. A workspace that is
 * wanted again has its next materialization from the same commit on, and is answered with that.
 */
async function releasedReply(
  server: ServerContext,
  place: Pick<WorkspaceRow, "environmentId" | "id">,
  request: RequestFacts,
  materializationId: string | null,
): Promise<Reply> {
  const isOver = (seen: WorkspaceRow): boolean =>
    seen.materializationId !== materializationId || !isHeld(seen.materializationStatus);
  const seen = await waitFor(
    server,
    place,
    request,
    (workspace) => isOver(workspace) || workspace.materializationStatus === "uncommitted",
  );
  return workspaceReply(server.db, seen, server.clock(), isOver(seen) ? 200 : 202);
}

const machineResponses = {
  200: { description: "The workspace, already in this state.", schema: Workspace },
  202: { description: "The workspace; the change is in progress.", schema: Workspace },
};

const machine: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces/:workspace_id/materialize",
    name: "apiMaterializeWorkspace",
    summary: "Put a workspace on a machine",
    description:
      "Asks a worker to start the workspace and returns at once. A live workspace stays live, and its idle time starts again.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    examples: { response: EXAMPLE_WORKSPACE },
    transaction: "required",
    handle: async ({ tx, server, scope, params }) => {
      const workspace = await requestLive(tx, server, scope, params.workspace_id);
      return workspaceReply(tx, workspace, server.clock(), isLive(workspace) ? 200 : 202);
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces/:workspace_id/connect",
    name: "apiConnectWorkspace",
    summary: "Wait for a live workspace",
    description:
      "Starts the workspace on a worker and waits up to 30 s until it is live. The answer is 202 if the start takes longer or failed. Repeat the call to keep waiting.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    examples: { response: EXAMPLE_WORKSPACE },
    transaction: "required",
    handle: async ({ tx, server, scope, params, request }) => {
      const requested = await requestLive(tx, server, scope, params.workspace_id);
      return { afterCommit: () => connectedReply(server, requested, request) };
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces/:workspace_id/stop",
    name: "apiStopWorkspace",
    summary: "Take a workspace off its machine",
    description:
      "Ends all commands and terminals, commits the changes and releases the worker. Waits up to 30 s; the answer is 202 if the stop takes longer. A workspace that was asked for again meanwhile is answered with its next materialization.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    examples: { response: EXAMPLE_WORKSPACE },
    transaction: "required",
    handle: async ({ tx, server, scope, params, request }) => {
      const workspace = await requireWorkspace(tx, scope.environmentId, params.workspace_id);
      const asked = await stopWorkspace(
        tx,
        server.newUuid,
        scope.environmentId,
        workspace.id,
        server.clock(),
      );
      return { afterCommit: () => releasedReply(server, workspace, request, asked) };
    },
  }),
];

const custody: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces/:workspace_id/recover",
    name: "apiRecoverWorkspace",
    summary: "Retry a failed commit",
    description:
      "The worker with the uncommitted files retries the commit at once, and the call waits up to 30 s for the result. 200 after a successful " +
      "commit. 202 when the commit continues, or when it failed again with `materialization.error`. 409 `invalid_state` when no worker holds " +
      "uncommitted files.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    refusals: [409],
    examples: {
      response: {
        ...EXAMPLE_WORKSPACE,
        materialization: { ...EXAMPLE_WORKSPACE.materialization, status: "stopped" },
      },
    },
    transaction: "required",
    handle: async ({ tx, server, scope, params, request }) => {
      const place = { environmentId: scope.environmentId, workspaceId: params.workspace_id };
      const now = server.clock();
      const asked = await recoverWorkspace(tx, place, now, now + server.leaseDurationMs);
      const workspace = { environmentId: scope.environmentId, id: params.workspace_id };
      return { afterCommit: () => releasedReply(server, workspace, request, asked) };
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces/:workspace_id/discard",
    name: "apiDiscardWorkspace",
    summary: "Discard uncommitted files",
    description:
      "The uncommitted files on the worker are lost, and the workspace continues with its last version. The worker need not respond, so it may be " +
      "lost for good. 409 `invalid_state` when no worker holds uncommitted files.",
    tag,
    access: remove,
    params: WorkspaceParams,
    body: DiscardWorkspace,
    responses: { 200: { description: "The stopped workspace.", schema: Workspace } },
    refusals: [409],
    examples: {
      request: { confirm: true },
      response: {
        ...EXAMPLE_WORKSPACE,
        materialization: { ...EXAMPLE_WORKSPACE.materialization, status: "stopped" },
      },
    },
    transaction: "required",
    handle: async ({ tx, server, scope, params }) => {
      await discardWorkspace(
        tx,
        server.newUuid,
        { ...scope, workspaceId: params.workspace_id },
        server.clock(),
      );
      return workspaceReply(tx, await findShown(tx, scope, params.workspace_id), server.clock());
    },
  }),
];

export const machineRoutes: RouteDefinition[] = [...machine, ...custody];
