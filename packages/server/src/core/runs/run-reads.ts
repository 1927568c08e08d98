import type { RunStatus, WaitKind, Uuid } from "@keelson/contract";
import { leftJoinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";

/** A run with its live or final state joined. JSON is text, times are milliseconds. */
export type RunRow = {
  id: Uuid<"run">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  deploymentId: Uuid<"dep">;
  deploymentVersion: string;
  payload: string | null;
  continuations: number;
  continuedPayload: string | null;
  metadata: string | null;
  tags: string[] | null;
  queue: string;
  concurrencyKey: string | null;
  priority: number;
  retry: string;
  maxDurationMs: number | null;
  startAt: number | null;
  expiresAt: number | null;
  sessionId: Uuid<"sess"> | null;
  turn: number | null;
  workspaceId: Uuid<"ws"> | null;
  scheduleId: Uuid<"sched"> | null;
  parentRunId: Uuid<"run"> | null;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  createdAt: number;
  status: RunStatus;
  attemptNumber: number | null;
  output: string | null;
  failure: string | null;
  errorGroupId: Uuid<"err"> | null;
  startedAt: number | null;
  finishedAt: number | null;
  updatedAt: number;
  /** A `PendingWaitRow` as JSON. */
  pendingWait: string | null;
};

/** What a waiting run waits for: the first of it, if it is several things. */
export type PendingWaitRow = {
  id: Uuid<"wait">;
  kind: WaitKind;
  name: string;
  tokenId: Uuid<"tok"> | null;
  stream: string | null;
  childRunId: Uuid<"run"> | null;
  timeoutAtMs: number | null;
  createdAtMs: number;
};

const columnsWith = (metadata: string): Sql =>
  rawSql(`
  r.id, r.environment_id, r.project_id, r.entrypoint_kind, r.entrypoint,
  r.deployment_id, r.deployment_version, r.payload,
  coalesce(n.number, 0) AS continuations, n.payload AS continued_payload,
  ${metadata} AS metadata, r.tags, r.queue, r.concurrency_key, r.priority,
  r.retry, r.max_duration_ms, r.start_at, r.expires_at,
  r.session_id, r.turn, r.workspace_id, r.schedule_id,
  r.parent_run_id, r.client_version, r.cli_version,
  r.sdk_version, r.created_at, coalesce(x.status, e.status) AS status,
  coalesce(x.attempt_number, nullif(e.attempt_number, 0)) AS attempt_number, x.output, x.failure, x.error_group_id,
  coalesce(x.started_at, e.started_at) AS started_at, x.finished_at,
  coalesce(x.finished_at, e.updated_at, r.created_at) AS updated_at,
  CASE WHEN e.status = 'waiting' THEN (
    SELECT json_build_object('id', w.id, 'kind', w.kind, 'name', w.name, 'tokenId', w.token_id, 'stream', s.name,
      'childRunId', w.child_run_id, 'timeoutAtMs', floor(extract(epoch FROM w.timeout_at) * 1000),
      'createdAtMs', floor(extract(epoch FROM w.created_at) * 1000))
    FROM run_waits w LEFT JOIN streams s ON s.environment_id = w.environment_id AND s.id = w.stream_id
    WHERE w.environment_id = r.environment_id AND w.run_id = r.id AND w.status = 'pending' AND NOT w.accepted AND w.kind <> 'message'
    ORDER BY w.position LIMIT 1
  ) END AS pending_wait`);

export const RUN_COLUMNS = columnsWith("coalesce(x.metadata, e.metadata, r.metadata)");
/** The metadata that the run was started with, whatever it has become. */
const CREATED_COLUMNS = columnsWith("r.metadata");

/** Whether a run lives, how it ended, and what it has continued with. */
export const RUN_STATES = rawSql(`
  LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
  LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id
  LEFT JOIN run_continuations n ON n.environment_id = r.environment_id AND n.run_id = r.id`);

export const RUN_TABLES = sql`runs r ${RUN_STATES}`;
/** The same where some runs are chosen, each by its key. */
export const RUNS_BY_KEY = sql`
  runs r
  ${leftJoinByKey("executions", "e", sql`e.environment_id = r.environment_id AND e.run_id = r.id`)}
  ${leftJoinByKey("run_results", "x", sql`x.environment_id = r.environment_id AND x.run_id = r.id`)}
  ${leftJoinByKey("run_continuations", "n", sql`n.environment_id = r.environment_id AND n.run_id = r.id`)}`;

export async function findRun(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<RunRow | null> {
  const [row] = await db.query<RunRow>(sql`
    SELECT ${RUN_COLUMNS} FROM ${RUN_TABLES} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row ?? null;
}

/** The run with what its start asked for: a repeated start is answered from it. */
export async function findCreatedRun(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<RunRow | null> {
  const [row] = await db.query<RunRow>(sql`
    SELECT ${CREATED_COLUMNS} FROM ${RUN_TABLES} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row ?? null;
}

/** Which of the ids are of runs of the environment, newest first. */
export async function listKnownRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<Uuid<"run">[]> {
  const rows = await db.query<{ id: Uuid<"run"> }>(sql`
    SELECT id FROM runs WHERE environment_id = ${environmentId} AND id = ANY(${runIds}::uuid[]) ORDER BY id DESC`);
  return rows.map(({ id }) => id);
}

/** Runs as their starts asked for them, in no order. */
export const listCreatedRuns = (
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<RunRow[]> =>
  db.query<RunRow>(sql`
    SELECT ${CREATED_COLUMNS} FROM ${RUNS_BY_KEY}
    WHERE r.environment_id = ${environmentId} AND r.id = ANY(${runIds}::uuid[])`);

export async function findRunStatus(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<RunStatus | null> {
  const [row] = await db.query<{ status: RunStatus }>(sql`
    SELECT coalesce(x.status, e.status) AS status FROM ${RUN_TABLES} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row?.status ?? null;
}

/** Kept by every transition, not counted: a sum over the shards of each status. */
export function countRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
): Promise<{ status: RunStatus; count: number }[]> {
  return db.query(sql`
    SELECT status, sum(count)::bigint AS count FROM run_counts WHERE environment_id = ${environmentId} GROUP BY status`);
}

/** How many events and log chunks an ended run had, whatever of them is still kept. Null while it lives. */
export async function findEndedTotals(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<{ events: number; logs: number } | null> {
  const [row] = await db.query<{ events: number; logs: number }>(sql`
    SELECT event_sequence AS events, log_sequence AS logs FROM run_results
    WHERE environment_id = ${environmentId} AND run_id = ${runId}`);
  return row ?? null;
}
