import type { LiveRunStatus, SessionStatus, Uuid, WhileBusy } from "@keelson/contract";
import {
  conditionsOfMatches,
  matchOf,
  selectPage,
  sourceOf,
  waysBy,
  waysByAny,
  waysByTag,
  type Source,
} from "../../db/filtered-page.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";

/** A session as it is stored. JSON is text, times are milliseconds. */
export type StoredSession = {
  id: Uuid<"sess">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  externalId: string | null;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  status: SessionStatus;
  currentRunId: Uuid<"run">;
  turn: number;
  idle: boolean;
  /** What input that does not say it does while the newest turn is live, as its deployment declares it. Null: it waits. */
  whileBusy: WhileBusy | null;
  startOptions: string;
  metadata: string | null;
  tags: string[] | null;
  workspaceId: Uuid<"ws"> | null;
  expiresAt: number | null;
  closedAt: number | null;
  closeReason: string | null;
  /** The last turn that failed, since which none has succeeded; all four or none. */
  failedRunId: Uuid<"run"> | null;
  failureCode: string | null;
  failureMessage: string | null;
  failedAt: number | null;
  createdAt: number;
  updatedAt: number;
};

/** With the status of its newest run; null once that has ended. */
export type SessionRow = StoredSession & { runStatus: LiveRunStatus | null };

const COLUMNS = rawSql(`
  s.id, s.environment_id, s.project_id, s.external_id,
  s.entrypoint_kind, s.entrypoint, s.status, s.current_run_id, s.turn, s.idle, s.while_busy,
  s.start_options, s.metadata, s.tags, s.workspace_id, s.expires_at,
  s.closed_at, s.close_reason, s.failed_run_id, s.failure_code, s.failure_message, s.failed_at, s.created_at, s.updated_at`);

const JOINED = rawSql(`
  sessions s LEFT JOIN executions e ON e.environment_id = s.environment_id AND e.run_id = s.current_run_id`);

export async function findSession(
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<SessionRow | null> {
  const [row] = await db.query<SessionRow>(sql`
    SELECT ${COLUMNS}, e.status AS run_status FROM ${JOINED}
    WHERE s.environment_id = ${environmentId} AND s.id = ${sessionId}`);
  return row ?? null;
}

/** The open session with that external id, else the newest one that had it. */
export async function findSessionIdByExternalId(
  db: Queryable,
  environmentId: Uuid<"env">,
  externalId: string,
): Promise<Uuid<"sess"> | null> {
  const [row] = await db.query<{ id: Uuid<"sess"> }>(sql`
    SELECT coalesce(
      (SELECT id FROM sessions
        WHERE environment_id = ${environmentId} AND external_id = ${externalId} AND status = 'open'),
      (SELECT id FROM sessions
        WHERE environment_id = ${environmentId} AND external_id = ${externalId} ORDER BY id DESC LIMIT 1)) AS id`);
  return row?.id ?? null;
}

export async function findOpenSession(
  db: Queryable,
  environmentId: Uuid<"env">,
  externalId: string,
): Promise<SessionRow | null> {
  const [row] = await db.query<SessionRow>(sql`
    SELECT ${COLUMNS}, e.status AS run_status FROM ${JOINED}
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
export async function listSessions(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: SessionFilter,
  before: string | null,
  limit: number,
): Promise<SessionRow[]> {
  const { statuses, task, actor, tags } = filter;
  const matches = [...matchOf("s.external_id", filter.externalId), ...matchOf("s.entrypoint", task ?? actor)];
  const ways = [
    ...waysByAny(ALL, "s.status", statuses),
    ...waysBy(ALL, matches),
    ...waysByTag(tags, { table: "session_tags", of: "sessions", id: "session_id", alias: "s" }),
  ];
  const conditionsOf = (source: Source): Sql[] => [
    ...conditionsOfMatches(matches, source),
    ...(statuses.length === 0 ? [] : [sql`s.status = ANY(${statuses}::text[])`]),
    ...(task === null ? [] : [sql`s.entrypoint_kind = 'task'`]),
    ...(actor === null ? [] : [sql`s.entrypoint_kind = 'actor'`]),
    ...(tags.length === 0 ? [] : [sql`s.tags @> ${tags}::text[]`]),
  ];
  const page = await selectPage(db, { all: ALL, ways, conditionsOf }, { environmentId, before }, limit);
  return db.query<SessionRow>(sql`
    SELECT ${COLUMNS}, e.status AS run_status FROM (${page}) page, ${JOINED}
    WHERE s.environment_id = ${environmentId} AND s.id = page.id ORDER BY page.id DESC`);
}

const ALL = sourceOf("sessions", "s");

/** Locks a session before its streams and before live runs: the order that every transaction keeps. */
export async function lockSession(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<StoredSession | null> {
  const [row] = await tx.query<StoredSession>(sql`
    SELECT ${COLUMNS} FROM sessions s WHERE s.environment_id = ${environmentId} AND s.id = ${sessionId}
    FOR NO KEY UPDATE`);
  return row ?? null;
}

const expired = (now: number): Sql => sql`
  s.expires_at IS NOT NULL AND s.status = 'open' AND s.expires_at <= ${timestamp(now)}
  AND ${isNotSetAside("expire-sessions", sql`s.environment_id`, sql`s.id`, now)}`;

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
