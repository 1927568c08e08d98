import {
  BulkAction,
  BulkActionItem,
  BulkActionPreview,
  CreateBulkAction,
  encodeId,
  ListBulkActions,
  type BulkActionKind,
  type EnvironmentPermission,
  type Uuid,
} from "@keelson/contract";
import {
  findBulkAction,
  listBulkActions,
  listBulkItems,
} from "../../../core/bulk-actions/bulk-action-reads.ts";
import { cancelBulkAction } from "../../../core/bulk-actions/cancel-bulk-action.ts";
import {
  checkVersion,
  countSelected,
  createBulkAction,
  sampleSelected,
  type NewBulkAction,
} from "../../../core/bulk-actions/create-bulk-action.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { invalidRequest, notFound } from "../../../domain-error.ts";
import { forbidden } from "../../edge/check-caller.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import {
  route,
  type ChangeCall,
  type EnvironmentScope,
  type Reply,
  type RouteDefinition,
} from "../../edge/route.ts";
import { EXAMPLE_CREATE_BULK_ACTION } from "./examples.ts";
import { selectionOf } from "./selection.ts";
import { toBulkAction, toBulkItem } from "./wire.ts";

/** Bulk actions: many runs are cancelled or replayed by one request. */

const common = {
  in: ["v1", "api"],
  tag: "Runs",
  access: { kind: "environment", permission: "runs.read" },
} as const;
const one = { params: { id: Id("bulk") } } as const;

/** What each action does, its caller may do with one run. */
const NEEDED: Readonly<Record<BulkActionKind, EnvironmentPermission>> = {
  cancel: "runs.cancel",
  replay: "tasks.start",
};

function checkPermission({ permissions }: EnvironmentScope, action: BulkActionKind): void {
  const needed = NEEDED[action];
  if (permissions.has(needed)) return;
  throw forbidden(needed);
}

async function bulkActionReply(
  db: Queryable,
  { environmentId }: EnvironmentScope,
  id: Uuid<"bulk">,
  status = 200,
): Promise<Reply> {
  const row = await findBulkAction(db, environmentId, id);
  if (row === null) throw notFound();
  return { status, body: toBulkAction(row) };
}

async function create({ tx, server, scope, audit }: ChangeCall, body: CreateBulkAction): Promise<Reply> {
  checkPermission(scope, body.action);
  const { environmentId, projectId, caller } = scope;
  const version = body.deployment_version ?? null;
  if (version !== null && body.action !== "replay")
    throw invalidRequest([{ path: "deployment_version", message: "only a replay takes a version" }]);
  const selection = selectionOf(body);
  await checkVersion(tx, server, environmentId, version);
  const now = server.clock();
  if (body.dry_run === true) {
    audit(null);
    const { matched, moreMatched } = await countSelected(tx, environmentId, selection, now);
    const sample = await sampleSelected(tx, environmentId, selection, now);
    const preview: BulkActionPreview = {
      ...{ dry_run: true, action: body.action, matched, more_matched: moreMatched },
      sample_run_ids: sample.map((runId) => encodeId("run", runId)),
    };
    return { status: 200, body: preview };
  }
  const request: NewBulkAction = {
    ...{ environmentId, projectId, selection, action: body.action },
    ...{ deploymentVersion: version, reason: body.reason ?? null },
    ...{ createdByKind: caller.kind, createdById: caller.id },
  };
  const id = await createBulkAction(tx, server, request, now);
  const details = { action: body.action, reason: body.reason ?? null, deployment_version: version };
  audit({ id: encodeId("bulk", id), details });
  return bulkActionReply(tx, scope, id, 202);
}

const changes: RouteDefinition[] = [
  route({
    ...common,
    method: "POST",
    path: "/runs/bulk-actions",
    name: "createBulkAction",
    summary: "Cancel or replay many runs",
    description:
      "Takes the filters of the list of runs, or up to 500 ids. Runs that are created later do not belong to the bulk action. A server does it " +
      "in the background, newest run first, each run once; the items say what was done. A filter that names a status is compared when a run's turn " +
      "comes. A replay starts a new run of the same task with the same payload, queue, priority, tags, concurrency key, metadata and number of attempts. " +
      "A cancellation needs the permission `runs.cancel`, a replay `tasks.start`. `dry_run` counts the runs and changes nothing.",
    body: CreateBulkAction,
    transaction: "required",
    idempotency: { stored: "runs.bulk_actions" },
    responses: {
      200: { description: "What a dry run found.", schema: BulkActionPreview },
      202: { description: "The bulk action, running.", schema: BulkAction },
    },
    examples: { request: EXAMPLE_CREATE_BULK_ACTION },
    audit: { action: "bulk_actions.create", resource: "bulk_action" },
    handle: (call) => create(call, call.body),
  }),
  route({
    ...common,
    ...one,
    access: { kind: "environment", permission: "runs.cancel" },
    method: "POST",
    path: "/runs/bulk-actions/:id/cancel",
    name: "cancelBulkAction",
    summary: "Stop a bulk action",
    description:
      "Leaves the remaining runs as they are. What was done stays done. Repeating it changes nothing; a completed bulk action is 409 `invalid_state`. " +
      "A bulk replay is stopped by the same permission.",
    transaction: "required",
    responses: { 200: { description: "The bulk action, cancelled.", schema: BulkAction } },
    audit: { action: "bulk_actions.cancel", resource: "bulk_action" },
    handle: async ({ tx, server, scope, params, audit }) => {
      const stopped = await cancelBulkAction(tx, scope.environmentId, params.id, server.clock());
      audit(stopped ? { id: encodeId("bulk", params.id) } : null);
      return bulkActionReply(tx, scope, params.id);
    },
  }),
];

const reads: RouteDefinition[] = [
  listRoute({
    ...common,
    path: "/runs/bulk-actions",
    name: "listBulkActions",
    summary: "List bulk actions",
    description: "Newest first, running and ended ones. An ended one is dropped with the runs of its time.",
    items: "bulk_actions",
    title: "bulk actions",
    resource: BulkAction,
    query: ListBulkActions,
    read: ({ server, scope }, { after, limit }) =>
      listBulkActions(server.db, scope.environmentId, after, limit),
    toWire: toBulkAction,
  }),
  route({
    ...common,
    ...one,
    method: "GET",
    path: "/runs/bulk-actions/:id",
    name: "getBulkAction",
    summary: "Get a bulk action",
    description: "Its counts grow until it has ended.",
    responses: { 200: { description: "The bulk action.", schema: BulkAction } },
    handle: ({ server, scope, params }) => bulkActionReply(server.db, scope, params.id),
  }),
  listRoute({
    ...common,
    ...one,
    path: "/runs/bulk-actions/:id/items",
    name: "listBulkActionItems",
    summary: "List what a bulk action did",
    description: "One item for each run that it has come to, newest run first.",
    items: "items",
    resource: BulkActionItem,
    query: ListBulkActions,
    within: async ({ server, scope, params }) => {
      if ((await findBulkAction(server.db, scope.environmentId, params.id)) === null) throw notFound();
      return params.id;
    },
    read: ({ server, scope, params }, { after, limit }) =>
      listBulkItems(server.db, scope.environmentId, params.id, after, limit),
    key: { of: ({ runId }) => runId },
    toWire: toBulkItem,
  }),
];

export const bulkActionRoutes: RouteDefinition[] = [...changes, ...reads];
