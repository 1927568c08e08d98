import type { LiveRunStatus, SessionStatus } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";

/** A session as it is stored. JSON is text, times are milliseconds. */
export type StoredSession = {
  id: string;
  environmentId: string;
  projectId: string;
  externalId: string | null;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  status: SessionStatus;
  currentRunId: string;
  turn: number;
  idle: boolean;
  startOptions: string;
  metadata: string | null;
  tags: string[] | null;
  workspaceId: string | null;
  expiresAt: number | null;
  closedAt: number | null;
  closeReason: string | null;
  createdAt: number;
  updatedAt: number;
};

/** With the status of its newest run; null once that has ended. */
export type SessionRow = StoredSession & { runStatus: LiveRunStatus | null };

const COLUMNS = rawSql(`
  s.id, s.environment_id AS "environmentId", s.project_id AS "projectId", s.external_id AS "externalId",
  s.entrypoint_kind AS "entrypointKind", s.entrypoint, s.status, s.current_run_id AS "currentRunId", s.turn, s.idle,
  s.start_options AS "startOptions", s.metadata, s.tags, s.workspace_id AS "workspaceId", s.expires_at AS "expiresAt",
  s.closed_at AS "closedAt", s.close_reason AS "closeReason", s.created_at AS "createdAt", s.updated_at AS "updatedAt"`);

const JOINED = rawSql(`
  sessions s LEFT JOIN executions e ON e.environment_id = s.environment_id AND e.run_id = s.current_run_id`);

export async function findSession(
  db: Queryable,
  environmentId: string,
  sessionId: string,
): Promise<SessionRow | null> {
  const [row] = await db.query<SessionRow>(sql`
    SELECT ${COLUMNS}, e.status AS "runStatus" FROM ${JOINED}
    WHERE s.environment_id = ${environmentId} AND s.id = ${sessionId}`);
  return row ?? null;
}

/** The open session with that external id, else the newest one that had it. */
export async function findSessionIdByExternalId(
  db: Queryable,
  environmentId: string,
  externalId: string,
): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(sql`
    SELECT coalesce(
      (SELECT id FROM sessions
        WHERE environment_id = ${environmentId} AND external_id = ${externalId} AND status = 'open'),
      (SELECT id FROM sessions
        WHERE environment_id = ${environmentId} AND external_id = ${externalId} ORDER BY id DESC LIMIT 1)) AS id`);
  return row?.id ?? null;
}

export async function findOpenSession(
  db: Queryable,
  environmentId: string,
  externalId: string,
): Promise<SessionRow | null> {
  const [row] = await db.query<SessionRow>(sql`
    SELECT ${COLUMNS}, e.status AS "runStatus" FROM ${JOINED}
    WHERE s.environment_id = ${environmentId} AND s.external_id = ${externalId} AND s.status = 'open'`);
  return row ?? null;
}

export type SessionFilter = {
  externalId: string | null;
  statuses: readonly SessionStatus[];
  task: string | null;
  actor: string | null;
  /** All must be there. */
  tags: readonly string[];
};

/** Newest first, after the session `before`. Ids are UUIDv7, so the key is the order of creation. */
export function listSessions(
  db: Queryable,
  environmentId: string,
  filter: SessionFilter,
  before: string | null,
  limit: number,
): Promise<SessionRow[]> {
  const conditions = [sql`s.environment_id = ${environmentId}`];
  if (before !== null) conditions.push(sql`s.id < ${before}`);
  if (filter.externalId !== null) conditions.push(sql`s.external_id = ${filter.externalId}`);
  const [only] = filter.statuses;
  // The partial index of open sessions is found by the constant alone.
  if (filter.statuses.length === 1 && only === "open") conditions.push(sql`s.status = 'open'`);
  else if (only !== undefined) conditions.push(sql`s.status = ANY(${filter.statuses}::text[])`);
  if (filter.task !== null)
    conditions.push(sql`s.entrypoint_kind = 'task' AND s.entrypoint = ${filter.task}`);
  if (filter.actor !== null)
    conditions.push(sql`s.entrypoint_kind = 'actor' AND s.entrypoint = ${filter.actor}`);
  if (filter.tags.length > 0) conditions.push(sql`s.tags @> ${filter.tags}::text[]`);
  return db.query<SessionRow>(sql`
    SELECT ${COLUMNS}, e.status AS "runStatus" FROM ${JOINED}
    WHERE ${joinSql(conditions, " AND ")} ORDER BY s.id DESC LIMIT ${limit}`);
}

/** Locks a session before its streams and before live runs: the order that every transaction keeps. */
export async function lockSession(
  tx: Tx,
  environmentId: string,
  sessionId: string,
): Promise<StoredSession | null> {
  const [row] = await tx.query<StoredSession>(sql`
    SELECT ${COLUMNS} FROM sessions s WHERE s.environment_id = ${environmentId} AND s.id = ${sessionId}
    FOR NO KEY UPDATE`);
  return row ?? null;
}

/** What the gate of a new stream is made from. */
export type SessionState = { environmentId: string; id: string; status: SessionStatus; idle: boolean };

/** Holds sessions in their state until the end of the transaction, in key order. */
export function holdSessions(
  tx: Tx,
  keys: readonly { environmentId: string; sessionId: string }[],
): Promise<SessionState[]> {
  return tx.query<SessionState>(sql`
    SELECT s.environment_id AS "environmentId", s.id, s.status, s.idle
    FROM sessions s
    JOIN (SELECT DISTINCT * FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.sessionId)}::uuid[])
      AS u (environment_id, id)) k ON k.environment_id = s.environment_id AND k.id = s.id
    ORDER BY s.environment_id, s.id
    FOR SHARE OF s`);
}

const expired = (now: number): Sql => sql`
  s.expires_at IS NOT NULL AND s.status = 'open' AND s.expires_at <= to_timestamp(${now}::float8 / 1000)`;

/** A condition: there is something to expire. */
export const hasExpiredSessions = (now: number): Sql =>
  sql`EXISTS (SELECT FROM sessions s WHERE ${expired(now)})`;

/** Open sessions whose time is over, a bounded number; those that another transaction holds are left for the next round. */
export function lockExpiredSessions(tx: Tx, now: number, limit: number): Promise<StoredSession[]> {
  return tx.query<StoredSession>(sql`
    SELECT ${COLUMNS} FROM sessions s
    WHERE ${expired(now)}
    ORDER BY s.expires_at LIMIT ${limit}
    FOR NO KEY UPDATE SKIP LOCKED`);
}
