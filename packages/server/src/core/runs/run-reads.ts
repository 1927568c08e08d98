import { isTerminalRunStatus, type RunStatus, type WaitKind } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";

/** A run with its live or final state joined. JSON is text, times are milliseconds. */
export type RunRow = {
  id: string;
  environmentId: string;
  projectId: string;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  deploymentId: string;
  deploymentVersion: string;
  payload: string | null;
  metadata: string | null;
  tags: string[] | null;
  queue: string;
  concurrencyKey: string | null;
  priority: number;
  retry: string;
  maxDurationMs: number | null;
  startAt: number | null;
  expiresAt: number | null;
  sessionId: string | null;
  turn: number | null;
  workspaceId: string | null;
  scheduleId: string | null;
  parentRunId: string | null;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  createdAt: number;
  status: RunStatus;
  attemptNumber: number | null;
  output: string | null;
  failure: string | null;
  startedAt: number | null;
  finishedAt: number | null;
  updatedAt: number;
  /** A `PendingWaitRow` as JSON. */
  pendingWait: string | null;
};

/** What a waiting run waits for: the first of it, if it is several things. */
export type PendingWaitRow = {
  id: string;
  kind: WaitKind;
  name: string;
  tokenId: string | null;
  stream: string | null;
  childRunId: string | null;
  timeoutAtMs: number | null;
  createdAtMs: number;
};

const columnsWith = (metadata: string): Sql =>
  rawSql(`
  r.id, r.environment_id AS "environmentId", r.project_id AS "projectId", r.entrypoint_kind AS "entrypointKind", r.entrypoint,
  r.deployment_id AS "deploymentId", r.deployment_version AS "deploymentVersion", r.payload,
  ${metadata} AS metadata, r.tags, r.queue, r.concurrency_key AS "concurrencyKey", r.priority,
  r.retry, r.max_duration_ms AS "maxDurationMs", r.start_at AS "startAt", r.expires_at AS "expiresAt",
  r.session_id AS "sessionId", r.turn, r.workspace_id AS "workspaceId", r.schedule_id AS "scheduleId",
  r.parent_run_id AS "parentRunId", r.client_version AS "clientVersion", r.cli_version AS "cliVersion",
  r.sdk_version AS "sdkVersion", r.created_at AS "createdAt", coalesce(x.status, e.status) AS status,
  coalesce(x.attempt_number, nullif(e.attempt_number, 0)) AS "attemptNumber", x.output, x.failure,
  coalesce(x.started_at, e.started_at) AS "startedAt", x.finished_at AS "finishedAt",
  coalesce(x.finished_at, e.updated_at, r.created_at) AS "updatedAt",
  CASE WHEN e.status = 'waiting' THEN (
    SELECT json_build_object('id', w.id, 'kind', w.kind, 'name', w.name, 'tokenId', w.token_id, 'stream', s.name,
      'childRunId', w.child_run_id, 'timeoutAtMs', floor(extract(epoch FROM w.timeout_at) * 1000),
      'createdAtMs', floor(extract(epoch FROM w.created_at) * 1000))
    FROM run_waits w LEFT JOIN streams s ON s.environment_id = w.environment_id AND s.id = w.stream_id
    WHERE w.environment_id = r.environment_id AND w.run_id = r.id AND w.status = 'pending'
    ORDER BY w.position LIMIT 1
  ) END AS "pendingWait"`);

const COLUMNS = columnsWith("coalesce(x.metadata, e.metadata, r.metadata)");
/** The metadata that the run was started with, whatever it has become. */
const CREATED_COLUMNS = columnsWith("r.metadata");

const JOINED = rawSql(`
  runs r
  LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
  LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id`);

export async function findRun(db: Queryable, environmentId: string, runId: string): Promise<RunRow | null> {
  const [row] = await db.query<RunRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row ?? null;
}

/** The run with what its start asked for: a repeated start is answered from it. */
export async function findCreatedRun(
  db: Queryable,
  environmentId: string,
  runId: string,
): Promise<RunRow | null> {
  const [row] = await db.query<RunRow>(sql`
    SELECT ${CREATED_COLUMNS} FROM ${JOINED} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row ?? null;
}

export async function findRunStatus(
  db: Queryable,
  environmentId: string,
  runId: string,
): Promise<RunStatus | null> {
  const [row] = await db.query<{ status: RunStatus }>(sql`
    SELECT coalesce(x.status, e.status) AS status FROM ${JOINED} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row?.status ?? null;
}

export type RunFilter = {
  statuses: readonly RunStatus[];
  task: string | null;
  actor: string | null;
  sessionId: string | null;
  scheduleId: string | null;
  deploymentId: string | null;
  parentRunId: string | null;
  tags: readonly string[];
  createdAfter: number | null;
  createdBefore: number | null;
};

/**
 * Newest first, after the run `before`. Ids are UUIDv7, so the key is the order of creation.
 *
 * The list is driven from where its rows are found by index: live statuses from the live rows, endings other than
 * `succeeded` from their partial index, everything else from the runs themselves. Either way a page of a long history
 * reads about as many rows as it shows.
 */
export function listRuns(
  db: Queryable,
  environmentId: string,
  filter: RunFilter,
  before: string | null,
  limit: number,
): Promise<RunRow[]> {
  const source = sourceOf(filter.statuses);
  return db.query<RunRow>(sql`
    SELECT ${COLUMNS} FROM ${source.tables}
    WHERE ${joinSql(filterConditions(environmentId, filter, before, source), " AND ")}
    ORDER BY ${source.key} DESC LIMIT ${limit}`);
}

type Source = { tables: Sql; environment: Sql; key: Sql; status: Sql };

const FROM_RUNS: Source = {
  tables: JOINED,
  environment: rawSql("r.environment_id"),
  key: rawSql("r.id"),
  status: rawSql("coalesce(x.status, e.status)"),
};
const FROM_LIVE: Source = {
  tables: rawSql(`executions e
    JOIN runs r ON r.environment_id = e.environment_id AND r.id = e.run_id
    LEFT JOIN run_results x ON false`),
  environment: rawSql("e.environment_id"),
  key: rawSql("e.run_id"),
  status: rawSql("e.status"),
};
const FROM_ENDINGS: Source = {
  tables: rawSql(`run_results x
    JOIN runs r ON r.environment_id = x.environment_id AND r.id = x.run_id
    LEFT JOIN executions e ON false`),
  environment: rawSql("x.environment_id"),
  key: rawSql("x.run_id"),
  // Repeats the partial index's predicate, which the planner does not deduce from a parameter.
  status: rawSql("x.status <> 'succeeded' AND x.status"),
};

function sourceOf(statuses: readonly RunStatus[]): Source {
  if (statuses.length === 0 || statuses.includes("succeeded")) return FROM_RUNS;
  if (statuses.every((status) => !isTerminalRunStatus(status))) return FROM_LIVE;
  if (statuses.every(isTerminalRunStatus)) return FROM_ENDINGS;
  return FROM_RUNS;
}

function filterConditions(
  environmentId: string,
  filter: RunFilter,
  before: string | null,
  source: Source,
): Sql[] {
  const conditions = [sql`${source.environment} = ${environmentId}`];
  if (before !== null) conditions.push(sql`${source.key} < ${before}`);
  if (filter.statuses.length > 0) conditions.push(sql`${source.status} = ANY(${filter.statuses}::text[])`);
  if (filter.task !== null)
    conditions.push(sql`r.entrypoint_kind = 'task' AND r.entrypoint = ${filter.task}`);
  if (filter.actor !== null)
    conditions.push(sql`r.entrypoint_kind = 'actor' AND r.entrypoint = ${filter.actor}`);
  if (filter.sessionId !== null) conditions.push(sql`r.session_id = ${filter.sessionId}`);
  if (filter.scheduleId !== null) conditions.push(sql`r.schedule_id = ${filter.scheduleId}`);
  if (filter.deploymentId !== null) conditions.push(sql`r.deployment_id = ${filter.deploymentId}`);
  if (filter.parentRunId !== null) conditions.push(sql`r.parent_run_id = ${filter.parentRunId}`);
  if (filter.tags.length > 0) conditions.push(sql`r.tags @> ${filter.tags}::text[]`);
  if (filter.createdAfter !== null)
    conditions.push(sql`r.created_at > to_timestamp(${filter.createdAfter}::float8 / 1000)`);
  if (filter.createdBefore !== null)
    conditions.push(sql`r.created_at < to_timestamp(${filter.createdBefore}::float8 / 1000)`);
  return conditions;
}

/** Kept by every transition, not counted: a sum over the shards of each status. */
export function countRuns(
  db: Queryable,
  environmentId: string,
): Promise<{ status: RunStatus; count: number }[]> {
  return db.query(sql`
    SELECT status, sum(count)::bigint AS count FROM run_counts WHERE environment_id = ${environmentId} GROUP BY status`);
}

/** How many events and log chunks an ended run had, whatever of them is still kept. Null while it lives. */
export async function findEndedTotals(
  db: Queryable,
  environmentId: string,
  runId: string,
): Promise<{ events: number; logs: number } | null> {
  const [row] = await db.query<{ events: number; logs: number }>(sql`
    SELECT event_sequence AS events, log_sequence AS logs FROM run_results
    WHERE environment_id = ${environmentId} AND run_id = ${runId}`);
  return row ?? null;
}
