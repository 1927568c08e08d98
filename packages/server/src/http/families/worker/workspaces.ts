import {
  AttachedWorkspace,
  AttachWorkspace,
  CommittedWorkspace,
  CommitWorkspace,
  formatDuration,
  LIMITS,
  LiveWorkspace,
  MaterializationAnswer,
  MaterializationFailed,
  MaterializationLive,
  MaterializationStopped,
  MaterializationUncommitted,
  parseDuration,
  RenewMaterializations,
  RenewMaterializationsResponse,
  WorkspaceLeaseRequest,
  WorkspaceLeaseResponse,
} from "@keelson/contract";
import { attachWorkspace } from "../../../core/materializations/attach-workspace.ts";
import { commitMaterialization } from "../../../core/materializations/commit-materialization.ts";
import { leaseMaterializations } from "../../../core/materializations/lease-materializations.ts";
import type { HeldFields } from "../../../core/materializations/lock-held-materialization.ts";
import { renewMaterializations } from "../../../core/materializations/renew-materializations.ts";
import {
  reportMaterialization,
  type MaterializationReport,
} from "../../../core/materializations/report-materialization.ts";
import { takeLive } from "../../../core/materializations/take-live.ts";
import { invalidRequest } from "../../../domain-error.ts";
import type { ChangeCall, Reply, RouteDefinition } from "../../edge/route.ts";
import { decodeLease } from "./decode-lease.ts";
import {
  toHeldPlace,
  toHeldWork,
  toLeasedMaterialization,
  toMaterializationStop,
} from "./materialization-wire.ts";
import { toProcessControl, toProcessInput, toProcessStart } from "../../resources/processes/wire.ts";
import { toTimestamp } from "../../edge/time.ts";
import { toVersion } from "../../resources/workspaces/wire.ts";
import { bothMounts } from "./mounts.ts";

const tag = "workspaces";
const worker = { kind: "worker" } as const;
const DEFAULT_WAIT_MS = 25_000;
const MAX_WAIT_MS = 60_000;

async function report(
  { tx, server, scope }: ReportCall,
  fields: HeldFields,
  word: MaterializationReport,
): Promise<Reply> {
  const { status } = await reportMaterialization(tx, server.newUuid, scope, fields, word, server.clock());
  return { status: 200, body: { materialization_id: fields.materialization_id, status } };
}
type ReportCall = Pick<ChangeCall<typeof worker>, "tx" | "server" | "scope">;

const answers = { 200: { description: "Where it is now.", schema: MaterializationAnswer } };

const leaseRoutes: RouteDefinition[] = [
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/lease",
    name: "leaseWorkspaces",
    summary: "Lease workspaces",
    description:
      "Long poll for materializations, stops, processes, their input and controls. The worker sends what it has, and the response has what it " +
      "lacks, at once or after `wait` (default 25s, at most 60s). A lost response is repeated by the next poll. Entries in `lost` no longer belong " +
      "to the worker.",
    access: worker,
    keepsAlive: true,
    body: WorkspaceLeaseRequest,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "The work that the worker lacks.", schema: WorkspaceLeaseResponse } },
    handle: async ({ server, scope, body, request }) => {
      const waitMs = body.wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(body.wait) ?? 0);
      if (waitMs > MAX_WAIT_MS) throw invalidRequest([{ path: "wait", message: "may be 60s at most" }]);
      const { limit, isolation, held, quarantined = [], begins_given: beginsGiven = false } = body;
      const call = {
        ...scope,
        ...{ calledAt: server.clock(), limit, isolation, beginsGiven, waitMs },
        held: held.map(toHeldWork),
        quarantined: quarantined.map(toHeldPlace),
      };
      const answer = await leaseMaterializations(server, call, request.signal);
      const leased: WorkspaceLeaseResponse = {
        lease_duration: formatDuration(server.leaseDurationMs),
        materializations: answer.materializations.map(toLeasedMaterialization),
        stops: answer.stops.map((facts) =>
          toMaterializationStop(facts, facts.workspaceStatus === "deleting"),
        ),
        lost: answer.lost,
        discarded: answer.discarded,
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
    name: "renewWorkspaces",
    summary: "Renew materializations",
    description:
      "Renews all materializations of the worker. Those in `lost` no longer belong to it. `busy` prevents a stop as idle. Stops come with the poll;" +
      " `stops` repeats those that are in progress.",
    access: worker,
    keepsAlive: true,
    body: RenewMaterializations,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: {
      200: {
        description: "The renewed and the lost materializations.",
        schema: RenewMaterializationsResponse,
      },
    },
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

const attachRoutes: RouteDefinition[] = bothMounts(tag, {
  method: "POST",
  path: "/workspaces/attach",
  name: "attachWorkspace",
  summary: "Attach to a run's workspace",
  description:
    "Puts the workspace of a leased run on this worker, under the execution's lease, before the run's code begins. One that this worker has already is " +
    "shared. 409 `workspace_busy`: another worker has it, it is being stopped, or it needs a stronger isolation; release the execution as `rejected`, and " +
    "it goes where the workspace is. 409 `invalid_state`: it was deleted; the run cannot succeed. A repeat is answered the same.",
  access: worker,
  body: AttachWorkspace,
  responses: { 200: { description: "The workspace, as in a lease.", schema: AttachedWorkspace } },
  handle: async ({ server, scope, body }) => {
    const lease = decodeLease(body);
    const facts = await attachWorkspace(server, lease && { ...lease, workerId: scope.workerId });
    const attached: AttachedWorkspace = {
      lease_duration: formatDuration(server.leaseDurationMs),
      materialization: toLeasedMaterialization(facts),
    };
    return { status: 200, body: attached };
  },
});

export const workerWorkspaceRoutes: RouteDefinition[] = [
  ...leaseRoutes,
  ...attachRoutes,
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/live",
    name: "liveWorkspace",
    summary: "Say that a workspace is live",
    description:
      "Reports that the files are in place and `isolation` works. An isolation that is weaker than the sandbox requires is 400: report `failed` " +
      "then. `starts` names processes that came with the lease: begin only those in `started`. A repeated request gets the same response.",
    access: worker,
    body: MaterializationLive,
    responses: {
      200: {
        description: "The current state of the workspace, and the processes to start.",
        schema: LiveWorkspace,
      },
    },
    handle: async ({ server, scope, body }) => {
      const word = { kind: "live", isolation: body.isolation, starts: body.starts ?? [] } as const;
      const { status, started } = await takeLive(server, scope, body, word, server.clock());
      return { status: 200, body: { materialization_id: body.materialization_id, status, started } };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/stopped",
    name: "stoppedWorkspace",
    summary: "Report that a workspace was released",
    description:
      "The worker calls this after it ended all processes and committed the changes, because of a stop or because the worker drains.",
    access: worker,
    body: MaterializationStopped,
    responses: answers,
    transaction: "required",
    handle: ({ body, ...call }) => report(call, body, { kind: "stopped" }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/failed",
    name: "failedWorkspace",
    summary: "Say that a workspace failed",
    description: "The worker could not prepare the workspace, or cannot continue. Callers see `error`.",
    access: worker,
    body: MaterializationFailed,
    responses: answers,
    transaction: "required",
    handle: ({ body, ...call }) =>
      report(call, body, { kind: "failed", error: body.error.message.replaceAll("\0", "\ufffd") }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/uncommitted",
    name: "uncommittedWorkspace",
    summary: "Say that a workspace could not be committed",
    description:
      "Reports that the processes have ended and the worker keeps the files. The worker retries the commit, and reports `stopped` when a version " +
      "has everything. No other worker gets the workspace meanwhile. Callers see `error`.",
    access: worker,
    body: MaterializationUncommitted,
    responses: answers,
    transaction: "required",
    handle: ({ body, ...call }) =>
      report(call, body, {
        kind: "uncommitted",
        error: body.error.message.replaceAll("\0", "\ufffd"),
      }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/commit",
    name: "commitWorkspace",
    summary: "Commit a workspace",
    description:
      "Makes the tree of a stored manifest the current version, in one transaction under the epoch. Unchanged files make no version. Missing blobs " +
      "are 409 `invalid_state` with `details.missing_blobs`. A tree that is based on another version than the current one is 409 `invalid_state` " +
      "with `details.current_version_id`. A repeated request with the same `commit_id` gets the version of the first.",
    access: worker,
    body: CommitWorkspace,
    responses: { 200: { description: "The version.", schema: CommittedWorkspace } },
    handle: async ({ server, scope, body }) => {
      const { version, created } = await commitMaterialization(server, scope.workerId, body);
      return { status: 200, body: { version: toVersion(version), created } };
    },
  }),
];
