import {
  Cursor,
  encodeId,
  isTerminalRunStatus,
  ListRuns,
  Nullable,
  Page,
  Run,
  RUN_STATUSES,
  RunCounts,
  RunEvent,
  RunLogChunk,
  RunLogSnapshot,
  SequenceCursor,
  SequencePage,
  Timestamp,
  type RunStatus,
  type Uuid,
} from "@keelson/contract";
import { Type } from "typebox";
import { cancelRun } from "../../../core/executions/cancel-run.ts";
import { findIndexedUntil } from "../../../core/run-search/find-indexed-until.ts";
import { siftRuns } from "../../../core/run-search/sift-runs.ts";
import { isSifted, type RunFilter } from "../../../core/runs/run-filter.ts";
import { listRuns, listRunsOf } from "../../../core/runs/run-list-reads.ts";
import { countRuns, findRun, findRunStatus, type RunRow } from "../../../core/runs/run-reads.ts";
import { findStatusFacts } from "../../../core/runs/status-reads.ts";
import { statusReason } from "../../../core/runs/status-reason.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { followCursor, wantsEventStream } from "../../edge/follow.ts";
import { listRoute, type CutPage, type PageRequest } from "../../edge/list-route.ts";
import { sequenceCursor } from "../../edge/page.ts";
import { Id } from "../../edge/params.ts";
import {
  route,
  type ChangeCall,
  type EnvironmentScope,
  type Reply,
  type RouteDefinition,
} from "../../edge/route.ts";
import { eventPage, followEvents, followLogs, logPage, logSnapshot } from "./run-feeds.ts";
import { runFilterOf } from "./run-filter.ts";
import { runJson } from "./wire.ts";

/** Runs: /v1 reads pages of their events and logs, /api follows them, too. */

const tag = "Runs";
const read = { in: ["v1", "api"], tag, access: { kind: "environment", permission: "runs.read" } } as const;
const readOnV1 = { ...read, in: ["v1"] } as const;
const readOnApi = { ...read, in: ["api"] } as const;
const one = { params: { id: Id("run") } } as const;
const Follow = Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." }));
const FeedPage = Type.Object(SequencePage, { additionalProperties: false });
const RunEventPage = Page("events", RunEvent);
const RunLogPage = Page("logs", RunLogChunk);

/** @throws DomainError `not_found` unless the run is the environment's. */
async function requireRun(server: ServerContext, scope: EnvironmentScope, runId: Uuid<"run">): Promise<void> {
  if ((await findRunStatus(server.db, scope.environmentId, runId)) === null) throw notFound();
}

async function runReply(
  db: Queryable,
  { environmentId }: EnvironmentScope,
  runId: Uuid<"run">,
  now: number,
): Promise<Reply> {
  const run = await findRun(db, environmentId, runId);
  if (run === null) throw notFound();
  const facts = isTerminalRunStatus(run.status) ? null : await findStatusFacts(db, environmentId, runId, now);
  return { status: 200, json: runJson(run, facts === null ? null : statusReason(facts)) };
}

function countsOf(rows: readonly { status: RunStatus; count: number }[]): RunCounts {
  const counts = Object.fromEntries(
    RUN_STATUSES.map((status) => [status, rows.find((row) => row.status === status)?.count ?? 0]),
  );
  return { counts: counts as RunCounts["counts"] };
}

const cancellation = {
  ...one,
  method: "POST",
  tag,
  access: { kind: "environment", permission: "runs.cancel" },
  path: "/runs/:id/cancel",
  summary: "Cancel a run",
  transaction: "required",
  audit: { action: "runs.cancel", resource: "run", by: "people" },
  responses: { 200: { description: "The run as it is now.", schema: Run } },
} as const;

async function cancel({ tx, server, scope, audit }: ChangeCall, runId: Uuid<"run">): Promise<Reply> {
  const isNew = await cancelRun(tx, scope.environmentId, runId, server.clock());
  audit(isNew ? { id: encodeId("run", runId) } : null);
  return runReply(tx, scope, runId, server.clock());
}

/** A page that is sifted is cut by how much was looked at. */
async function readRuns(
  { server: { db, clock }, scope: { environmentId } }: { server: ServerContext; scope: EnvironmentScope },
  { filter, after, limit }: PageRequest<RunFilter>,
): Promise<RunRow[] | CutPage<RunRow>> {
  if (!isSifted(filter)) return listRuns(db, environmentId, filter, after, limit);
  const { ids, next } = await siftRuns(db, environmentId, filter, after, limit - 1);
  const rows = await listRunsOf(db, environmentId, ids);
  if ((filter.terms ?? []).length === 0) return { rows, next, facts: {} };
  const indexedUntil = await findIndexedUntil(db, environmentId, clock());
  return { rows, next, facts: { indexed_until: new Date(indexedUntil).toISOString() } };
}

const items: RouteDefinition[] = [
  listRoute({
    ...read,
    path: "/runs",
    name: "listRuns",
    summary: "List runs",
    description:
      "Newest first. A result must match all filters. With `search` or `hide`, one request looks at a bounded number of runs: a page " +
      "may have fewer runs than `limit`, or none, and a `next_cursor` all the same.",
    items: "runs",
    resource: Run,
    page: Type.Object({
      runs: Type.Array(Run),
      next_cursor: Nullable(Cursor),
      indexed_until: Type.Optional({
        ...Timestamp,
        description:
          "Of a search: the index has the words of runs that were created until then. Newer runs are found without it, more slowly.",
      }),
    }),
    query: ListRuns,
    filter: runFilterOf,
    read: readRuns,
    toJson: (run) => runJson(run, null),
  }),
  route({
    ...readOnApi,
    method: "GET",
    path: "/runs/counts",
    name: "apiCountRuns",
    summary: "Count runs by status",
    description: "Kept with every transition, so it costs the same whatever the history.",
    responses: { 200: { description: "Runs by status.", schema: RunCounts } },
    handle: async ({ server, scope }) => ({
      status: 200,
      body: countsOf(await countRuns(server.db, scope.environmentId)),
    }),
  }),
  route({
    ...read,
    ...one,
    method: "GET",
    path: "/runs/:id",
    name: "getRun",
    summary: "Get a run",
    description: "`status_reason` says why a live run is not running.",
    responses: { 200: { description: "The run.", schema: Run } },
    handle: ({ server, scope, params }) => runReply(server.db, scope, params.id, server.clock()),
  }),
];

const v1Feeds: RouteDefinition[] = [
  route({
    ...readOnV1,
    ...one,
    method: "GET",
    path: "/runs/:id/events",
    name: "listRunEvents",
    summary: "List a run's events",
    description: "Oldest first, a finite page after `cursor`. To follow live, use /api/runs/{id}/events.",
    query: FeedPage,
    responses: { 200: { description: "A page of events.", schema: RunEventPage } },
    refusals: [410],
    handle: async ({ server, scope, params, query }) => {
      await requireRun(server, scope, params.id);
      return eventPage(server, scope, params.id, query);
    },
  }),
  route({
    ...readOnV1,
    ...one,
    method: "GET",
    path: "/runs/:id/logs",
    name: "listRunLogs",
    summary: "List a run's log chunks",
    description: "Oldest first, a finite page after `cursor`. To follow live, use /api/runs/{id}/logs.",
    query: FeedPage,
    responses: { 200: { description: "A page of log chunks.", schema: RunLogPage } },
    refusals: [410],
    handle: async ({ server, scope, params, query }) => {
      await requireRun(server, scope, params.id);
      return logPage(server, scope, params.id, query);
    },
  }),
];

const cancels: RouteDefinition[] = [
  route({
    ...cancellation,
    in: ["v1"],
    name: "cancelRun",
    description:
      "A run that no worker holds is cancelled at once. A running one becomes `cancel_requested`: its code is asked to stop and its process is " +
      "ended after a grace of 10 s. Cancelling again changes nothing; a run that ended otherwise is 409 `invalid_state`.",
    handle: (call) => cancel(call, call.params.id),
  }),
  route({
    ...cancellation,
    in: ["api"],
    name: "apiCancelRun",
    description: "As on /v1: asks a running run to stop, and kills its process after 10 s.",
    handle: (call) => cancel(call, call.params.id),
  }),
];

const apiFeeds: RouteDefinition[] = [
  route({
    ...readOnApi,
    ...one,
    method: "GET",
    path: "/runs/:id/events",
    name: "apiListRunEvents",
    summary: "List or follow a run's events",
    description:
      "A page after `cursor`; with `follow=1` or `Accept: text/event-stream` a stream of `run_event`, whose ids are the run event cursor. " +
      "Continue with `Last-Event-ID` or `cursor`; the stream ends with `end` and the final status.",
    query: Type.Object({ ...SequencePage, follow: Follow }, { additionalProperties: false }),
    responses: { 200: { description: "A page of events, or a stream.", schema: RunEventPage } },
    refusals: [410],
    handle: async ({ server, scope, params, query, request }) => {
      await requireRun(server, scope, params.id);
      if (!wantsEventStream(request, query.follow)) return eventPage(server, scope, params.id, query);
      return followEvents(server, scope, params.id, followCursor(request, query.cursor));
    },
  }),
  route({
    ...readOnApi,
    ...one,
    method: "GET",
    path: "/runs/:id/logs",
    name: "apiGetRunLogs",
    summary: "Get or follow a run's logs",
    description:
      "The last 256 KiB of stdout and stderr with the run-wide log cursor; with `follow=1` or `Accept: text/event-stream` a stream of `run_log` " +
      "after the cursor. Continue with `Last-Event-ID` or `cursor`; the stream ends with `end` and the final status.",
    query: Type.Object(
      { cursor: Type.Optional(SequenceCursor), follow: Follow },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A snapshot, or a stream.", schema: RunLogSnapshot } },
    handle: async ({ server, scope, params, query, request }) => {
      await requireRun(server, scope, params.id);
      if (wantsEventStream(request, query.follow))
        return followLogs(server, scope, params.id, followCursor(request, query.cursor));
      // The snapshot is the end of the logs whatever the cursor; one that is none is told all the same.
      sequenceCursor(query.cursor);
      return { status: 200, body: await logSnapshot(server, scope, params.id) };
    },
  }),
];

export const runRoutes: RouteDefinition[] = [...items, ...v1Feeds, ...cancels, ...apiFeeds];
