import {
  Cursor,
  decodeId,
  RUN_STATUSES,
  RunEvent,
  RunLogChunk,
  Page,
  Run,
  type RunCounts,
  pageQuery,
  Nullable,
  SequenceCursor,
  DeclaredId,
  LIMITS,
  type RunStatus,
} from "@keelson/contract";
import { Type } from "typebox";
import { cancelRun } from "../core/runs/cancel-run.ts";
import { wakeSettled } from "../core/executions/settle-changes.ts";

import { listRunEvents } from "../core/run-events/run-event-reads.ts";
import { readLogChunks } from "../core/run-logs/read-logs.ts";
import { findLogTotals } from "../core/run-logs/run-log-reads.ts";
import {
  countRuns,
  findRun,
  findRunStatus,
  listRuns,
  type RunFilter,
  type RunRow,
} from "../core/runs/run-reads.ts";
import { findStatusFacts, statusReason } from "../core/runs/status-reason.ts";
import { isTerminalRunStatus } from "@keelson/contract";
import { invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { readKept } from "./kept-feed.ts";
import { cursorExpired, decodeCursor, encodeCursor, pageLimit, sequenceCursor, toPage } from "./page.ts";
import type { EnvironmentScope } from "./route.ts";
import { runJson } from "./wire/run.ts";
import { toRunEvent, toRunLogChunk } from "./wire/run-feeds.ts";

/** What the run routes of /v1 and /api share: reading and cancelling are the same, only the families' shapes differ. */

export const RunParams = Type.Object({ id: Type.String() });

/** The run's id of a path, or not found: a malformed id tells no more than an absent one. */
export function runIdOf(params: { id: string }): string {
  const id = decodeId("run", params.id);
  if (id === null) throw notFound();
  return id;
}

/** @throws DomainError `not_found` unless the run is the environment's. */
export async function requireRun(
  server: ServerContext,
  scope: EnvironmentScope,
  params: { id: string },
): Promise<{ runId: string; status: RunStatus }> {
  const runId = runIdOf(params);
  const status = await findRunStatus(server.db, scope.environmentId, runId);
  if (status === null) throw notFound();
  return { runId, status };
}

export const RunListQuery = Type.Object(
  {
    ...pageQuery(),
    status: Type.Optional(
      Type.Array(Type.Enum([...RUN_STATUSES]), { maxItems: RUN_STATUSES.length, description: "Repeatable." }),
    ),
    task: Type.Optional(DeclaredId),
    actor: Type.Optional(DeclaredId),
    session_id: Type.Optional(Type.String({ maxLength: 64 })),
    schedule_id: Type.Optional(Type.String({ maxLength: 64 })),
    parent_run_id: Type.Optional(Type.String({ maxLength: 64, description: "Started by this run." })),
    tag: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.tagCharacters }), {
        maxItems: LIMITS.tags,
        description: "Repeatable; all must be there.",
      }),
    ),
    created_after: Type.Optional(Type.String({ format: "date-time" })),
    created_before: Type.Optional(Type.String({ format: "date-time" })),
  },
  { additionalProperties: false },
);

type ListQuery = {
  limit?: number;
  cursor?: string;
  status?: RunStatus[];
  task?: string;
  actor?: string;
  session_id?: string;
  schedule_id?: string;
  parent_run_id?: string;
  tag?: string[];
  created_after?: string;
  created_before?: string;
};

/** An id in a filter: a malformed one matches nothing, but is more likely a mistake, so it is told. */
function filterId(path: string, prefix: "sess" | "sched" | "run", text: string | undefined): string | null {
  if (text === undefined) return null;
  const id = decodeId(prefix, text);
  if (id === null) throw invalidRequest([{ path, message: `must be an id that begins with ${prefix}_` }]);
  return id;
}

const toFilter = (query: ListQuery): RunFilter => ({
  statuses: query.status ?? [],
  task: query.task ?? null,
  actor: query.actor ?? null,
  sessionId: filterId("session_id", "sess", query.session_id),
  scheduleId: filterId("schedule_id", "sched", query.schedule_id),
  parentRunId: filterId("parent_run_id", "run", query.parent_run_id),
  tags: query.tag ?? [],
  createdAfter: query.created_after === undefined ? null : Date.parse(query.created_after),
  createdBefore: query.created_before === undefined ? null : Date.parse(query.created_before),
});

export async function answerRunList(
  server: ServerContext,
  scope: EnvironmentScope,
  query: ListQuery,
): Promise<{ status: 200; json: string }> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor("runs", scope.environmentId, query.cursor);
  const rows = await listRuns(server.db, scope.environmentId, toFilter(query), before, limit + 1);
  const page = toPage(rows, limit, (row: RunRow) => encodeCursor("runs", scope.environmentId, row.id));
  return {
    status: 200,
    json: `{"runs":[${page.rows.map((row) => runJson(row, null)).join(",")}],"next_cursor":${JSON.stringify(page.nextCursor)}}`,
  };
}

export const RunList = Type.Object({ runs: Type.Array(Run), next_cursor: Nullable(Cursor) });

export async function answerRunItem(
  server: ServerContext,
  scope: EnvironmentScope,
  params: { id: string },
): Promise<{ status: 200; json: string }> {
  const runId = runIdOf(params);
  const run = await findRun(server.db, scope.environmentId, runId);
  if (run === null) throw notFound();
  const facts = isTerminalRunStatus(run.status)
    ? null
    : await findStatusFacts(server.db, scope.environmentId, runId, server.clock());
  return { status: 200, json: runJson(run, facts === null ? null : statusReason(facts)) };
}

export async function answerRunCounts(
  server: ServerContext,
  scope: EnvironmentScope,
): Promise<{ status: 200; body: RunCounts }> {
  const rows = await countRuns(server.db, scope.environmentId);
  const counts = Object.fromEntries(
    RUN_STATUSES.map((status) => [status, rows.find((row) => row.status === status)?.count ?? 0]),
  );
  return { status: 200, body: { counts: counts as RunCounts["counts"] } };
}

export async function answerRunCancel(
  server: ServerContext,
  scope: EnvironmentScope,
  params: { id: string },
): Promise<{ status: 200; json: string }> {
  const runId = runIdOf(params);
  const settled = await server.db.transaction((tx) =>
    cancelRun(tx, scope.environmentId, runId, server.clock()),
  );
  wakeSettled(server.wakes, settled);
  return answerRunItem(server, scope, params);
}

export const FeedPageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` }),
  ),
  cursor: Type.Optional(SequenceCursor),
};

/** A page of logs ends with the chunk that reaches this, whatever its limit. */
const LOG_PAGE_BYTES = 1_048_576;

export const RunEventPage = Page("events", RunEvent);
export const RunLogPage = Page("logs", RunLogChunk);

export async function answerRunEventPage(
  server: ServerContext,
  scope: EnvironmentScope,
  params: { id: string },
  query: { limit?: number; cursor?: string },
): Promise<{ status: 200; body: unknown }> {
  const { runId } = await requireRun(server, scope, params);
  const limit = pageLimit(query.limit);
  const after = sequenceCursor(query.cursor);
  const list = () => listRunEvents(server.db, scope.environmentId, runId, after, limit + 1);
  const { rows: events, earliest } = await readKept(server, scope, runId, "events", after, list);
  if (earliest !== null && after > 0) throw cursorExpired("The events of this run are", earliest);
  const page = toPage(events, limit, (event) => String(event.sequence));
  return {
    status: 200,
    body: { events: page.rows.map((event) => toRunEvent(runId, event)), next_cursor: page.nextCursor },
  };
}

export async function answerRunLogPage(
  server: ServerContext,
  scope: EnvironmentScope,
  params: { id: string },
  query: { limit?: number; cursor?: string },
): Promise<{ status: 200; body: unknown }> {
  const { runId } = await requireRun(server, scope, params);
  const limit = pageLimit(query.limit);
  const after = sequenceCursor(query.cursor);
  const list = () => readLogChunks(server, scope.environmentId, runId, after, limit, LOG_PAGE_BYTES);
  const { rows: chunks, earliest } = await readKept(server, scope, runId, "logs", after, list);
  if (earliest !== null && after > 0) throw cursorExpired("The logs of this run are", earliest);
  if (chunks.length === 0) return { status: 200, body: { logs: [], next_cursor: null } };
  const last = chunks.at(-1)?.sequence ?? after;
  const totals = await findLogTotals(server.db, scope.environmentId, runId);
  const more = totals !== null && totals.logSequence > last;
  return {
    status: 200,
    body: {
      logs: chunks.map((chunk) => toRunLogChunk(runId, chunk)),
      next_cursor: more ? String(last) : null,
    },
  };
}
