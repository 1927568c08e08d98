import {
  AttachedWorkspace,
  AttachWorkspace,
  CommittedWorkspace,
  CommitWorkspace,
  formatDuration,
  LIMITS,
  MaterializationAnswer,
  MaterializationFailed,
  MaterializationLive,
  MaterializationStopped,
  parseDuration,
  RenewMaterializations,
  RenewMaterializationsResponse,
  WorkspaceLeaseRequest,
  WorkspaceLeaseResponse,
} from "@keelson/contract";
import { attachWorkspace } from "../../core/materializations/attach-workspace.ts";
import { commitMaterialization } from "../../core/materializations/commit-materialization.ts";
import { leaseMaterializations } from "../../core/materializations/lease-materializations.ts";
import type { HeldFields } from "../../core/materializations/lock-held-materialization.ts";
import { renewMaterializations } from "../../core/materializations/renew-materializations.ts";
import {
  reportMaterialization,
  type MaterializationReport,
} from "../../core/materializations/report-materialization.ts";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import type { Reply, Route, WorkerScope } from "../route.ts";
import { toLeasedMaterialization, toMaterializationStop } from "../wire/materialization.ts";
import { toProcessControl, toProcessInput, toProcessStart } from "../wire/process.ts";
import { toTimestamp } from "../wire/time.ts";
import { toVersion } from "../wire/workspace.ts";
import { bothMounts } from "./mounts.ts";

const tag = "workspaces";
const worker = { kind: "worker" } as const;
const DEFAULT_WAIT_MS = 25_000;
const MAX_WAIT_MS = 60_000;

async function report(
  server: ServerContext,
  { workerId, workerGroupId }: WorkerScope,
  fields: HeldFields,
  word: MaterializationReport,
): Promise<Reply> {
  const { workspaceId, status } = await server.db.transaction((tx) =>
    reportMaterialization(tx, server.newUuid, workerId, fields, word, server.clock()),
  );
  server.wakes.wake(wakeKeys.workspace(workspaceId));
  // What waits for it to be live is given to its worker by the poll.
  if (word.kind === "live") server.wakes.wake(wakeKeys.workerWorkspaces(workerId));
  // The workspace may be wanted again at once, and runs that wait for it may go elsewhere.
  if (word.kind !== "live") {
    server.wakes.wake(wakeKeys.workspaceWork(workerGroupId));
    server.wakes.wake(wakeKeys.work(workerGroupId));
  }
  return { status: 200, body: { materialization_id: fields.materialization_id, status } };
}

const answers = { 200: { description: "Where it is now.", schema: MaterializationAnswer } };

const leaseRoutes: Route[] = [
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/lease",
    operationId: "leaseWorkspaces",
    summary: "Lease workspaces",
    description:
      "Long poll for materializations, stops, processes, their input and controls. The worker says what it has and is answered what it lacks, at the first " +
      "of it or after `wait` (default 25s, at most 60s); an answer that was lost is simply given again. What is in `lost` is no longer the worker's.",
    access: worker,
    body: WorkspaceLeaseRequest,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "What the worker lacks.", schema: WorkspaceLeaseResponse } },
    handle: async ({ server, scope, body, request }) => {
      const waitMs = body.wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(body.wait) ?? 0);
      if (waitMs > MAX_WAIT_MS) throw invalidRequest([{ path: "wait", message: "may be 60s at most" }]);
      const { limit, isolation, held } = body;
      const call = { ...scope, limit, isolation, held, waitMs };
      const answer = await leaseMaterializations(server, call, request.signal);
      const leased: WorkspaceLeaseResponse = {
        lease_duration: formatDuration(server.leaseDurationMs),
        materializations: answer.materializations.map(toLeasedMaterialization),
        stops: answer.stops.map((facts) =>
          toMaterializationStop(facts, facts.workspaceStatus === "deleting"),
        ),
        lost: answer.lost,
        processes: answer.processes.starts.map(toProcessStart),
        inputs: answer.processes.inputs.map(toProcessInput),
        controls: answer.processes.controls.map(toProcessControl),
      };
      return { status: 200, body: leased };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/renew",
    operationId: "renewWorkspaces",
    summary: "Renew materializations",
    description:
      "One call for all. Those in `lost` are no longer this worker's. `busy` keeps one from being stopped as idle. Stops come by the poll, with what is " +
      "to be done; `stops` repeats those that are under way.",
    access: worker,
    body: RenewMaterializations,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "What was renewed and lost.", schema: RenewMaterializationsResponse } },
    handle: async ({ server, scope, body }) => {
      const renewal = await renewMaterializations(server, scope.workerId, body.materializations);
      return {
        status: 200,
        body: {
          expires_at: toTimestamp(renewal.expiresAt),
          renewed: renewal.renewed,
          lost: renewal.lost,
          stops: renewal.stopping.map((stop) => toMaterializationStop(stop, stop.isDeleted)),
        },
      };
    },
  }),
];

const attachRoutes: Route[] = bothMounts(tag, {
  method: "POST",
  path: "/workspaces/attach",
  operationId: "attachWorkspace",
  summary: "Attach to a run's workspace",
  description:
    "Puts the workspace of a leased run on this worker, under the execution's lease, before the run's code begins. One that this worker has already is " +
    "shared. 409 `workspace_busy`: another worker has it, it is being stopped, or it needs a stronger isolation; release the execution as `rejected`, and " +
    "it goes where the workspace is. 409 `invalid_state`: it was deleted; the run cannot succeed. A repeat is answered the same.",
  access: worker,
  body: AttachWorkspace,
  responses: { 200: { description: "The workspace, as a lease gives it.", schema: AttachedWorkspace } },
  handle: async ({ server, scope, body }) => {
    const facts = await attachWorkspace(server, scope.workerId, body);
    server.wakes.wake(wakeKeys.workspace(facts.workspaceId));
    const attached: AttachedWorkspace = {
      lease_duration: formatDuration(server.leaseDurationMs),
      materialization: toLeasedMaterialization(facts),
    };
    return { status: 200, body: attached };
  },
});

export const workerWorkspaceRoutes: Route[] = [
  ...leaseRoutes,
  ...attachRoutes,
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/live",
    operationId: "liveWorkspace",
    summary: "Say that a workspace is live",
    description:
      "Its files are there, and `isolation` works. An isolation that is less than what the sandbox asks for is 400: answer `failed` then.",
    access: worker,
    body: MaterializationLive,
    responses: answers,
    handle: ({ server, scope, body }) =>
      report(server, scope, body, { kind: "live", isolation: body.isolation }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/stopped",
    operationId: "stoppedWorkspace",
    summary: "Say that a workspace was let go",
    description:
      "After its processes ended and what changed was committed. Asked for, or because the worker drains.",
    access: worker,
    body: MaterializationStopped,
    responses: answers,
    handle: ({ server, scope, body }) => report(server, scope, body, { kind: "stopped" }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/failed",
    operationId: "failedWorkspace",
    summary: "Say that a workspace failed",
    description: "It could not be prepared, or cannot go on. `error` is shown to callers.",
    access: worker,
    body: MaterializationFailed,
    responses: answers,
    handle: ({ server, scope, body }) =>
      report(server, scope, body, { kind: "failed", error: body.error.message.replaceAll("\0", "\ufffd") }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/commit",
    operationId: "commitWorkspace",
    summary: "Commit a workspace",
    description:
      "Makes the tree of a stored manifest the current version, in one transaction under the epoch. Unchanged files make no version. Blobs that are not " +
      "there are 409 `invalid_state` with `details.missing_blobs`; a tree that was changed from another version than the current one is 409 " +
      "`invalid_state` with `details.current_version_id`. A repeat with the same `commit_id` is given the version of the first.",
    access: worker,
    body: CommitWorkspace,
    responses: { 200: { description: "The version.", schema: CommittedWorkspace } },
    handle: async ({ server, scope, body }) => {
      const { version, created } = await commitMaterialization(server, scope.workerId, body);
      server.wakes.wake(wakeKeys.workspace(version.workspaceId));
      return { status: 200, body: { version: toVersion(version), created } };
    },
  }),
];
