import type { ErrorGroupOrder, ErrorGroupStatus, FailureKind, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { ErrorGroupState, UncountedSighting } from "./error-group.ts";

export const COUNT_LOOP = "count-errors";

/** A group as it is shown. Times are milliseconds. */
export type ErrorGroupRow = {
  id: Uuid<"err">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  status: ErrorGroupStatus;
  kind: FailureKind;
  title: string;
  message: string;
  frame: string | null;
  /** As its row has it: what the list is in the order of. */
  counted: number;
  /** With the runs that are still to be counted. */
  count: number;
  tasks: string[];
  actors: string[];
  firstSeenAt: number;
  lastSeenAt: number;
  lastRunId: Uuid<"run">;
  resolvedAt: number | null;
  resolvedInVersion: string | null;
  reopenedAt: number | null;
};

const COLUMNS = rawSql(`
  g.id, g.environment_id, v.project_id, g.status, g.kind, g.title, g.message, g.frame, g.count AS counted,
  g.count + p.count AS count, g.tasks, g.actors, g.first_seen_at, g.last_seen_at, g.last_run_id, g.resolved_at,
  g.resolved_in_version, g.reopened_at`);

/** The index has only what is still to be counted: some rows, for as long as the loop takes. */
const MORE = rawSql(`
  JOIN environments v ON v.id = g.environment_id
  CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM error_group_runs s
    WHERE s.environment_id = g.environment_id AND s.error_group_id = g.id AND NOT s.counted
  ) p`);

export async function findErrorGroup(
  db: Queryable,
  environmentId: Uuid<"env">,
  errorGroupId: Uuid<"err">,
): Promise<ErrorGroupRow | null> {
  const [row] = await db.query<ErrorGroupRow>(sql`
    SELECT ${COLUMNS} FROM error_groups g ${MORE}
    WHERE g.environment_id = ${environmentId} AND g.id = ${errorGroupId}`);
  return row ?? null;
}

export type ErrorGroupFilter = {
  statuses: readonly ErrorGroupStatus[];
  task: string | null;
  actor: string | null;
  seenSince: number | null;
  order: ErrorGroupOrder;
};

/** Where a page goes on: the last row's time or count, and its id. */
export type ErrorGroupPlace = { value: number; id: Uuid<"err"> };

/** The greatest first. An environment has a bounded number of groups, so the filters are asked of each. */
export async function listErrorGroups(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: ErrorGroupFilter,
  after: ErrorGroupPlace | null,
  limit: number,
): Promise<(ErrorGroupRow & { place: string })[]> {
  const { statuses, task, actor, seenSince, order } = filter;
  const isByCount = order === "count";
  const column = rawSql(isByCount ? "g.count" : "g.last_seen_at");
  const valueOf = (value: number): Sql => (isByCount ? sql`${value}::bigint` : timestamp(value));
  const conditions = [sql`g.environment_id = ${environmentId}`];
  if (after !== null) conditions.push(sql`(${column}, g.id) < (${valueOf(after.value)}, ${after.id})`);
  if (statuses.length > 0) conditions.push(sql`g.status = ANY(${statuses}::text[])`);
  if (task !== null) conditions.push(sql`g.tasks @> ARRAY[${task}]::text[]`);
  if (actor !== null) conditions.push(sql`g.actors @> ARRAY[${actor}]::text[]`);
  if (seenSince !== null) conditions.push(sql`g.last_seen_at >= ${timestamp(seenSince)}`);
  const rows = await db.query<ErrorGroupRow>(sql`
    SELECT ${COLUMNS} FROM (
      SELECT * FROM error_groups g WHERE ${joinSql(conditions, " AND ")}
      ORDER BY ${column} DESC, g.id DESC LIMIT ${limit}
    ) g ${MORE} ORDER BY ${column} DESC, g.id DESC`);
  return rows.map((row) => ({ ...row, place: `${isByCount ? row.counted : row.lastSeenAt}:${row.id}` }));
}

const STATE = rawSql(`
  g.environment_id, g.id, g.status, g.first_seen_at, g.last_seen_at, g.count, g.last_run_id, g.tasks, g.actors,
  g.resolved_at, g.reopened_at`);

export async function lockErrorGroup(
  tx: Tx,
  environmentId: Uuid<"env">,
  errorGroupId: Uuid<"err">,
): Promise<ErrorGroupState | null> {
  const [row] = await tx.query<ErrorGroupState>(sql`
    SELECT ${STATE} FROM error_groups g
    WHERE g.environment_id = ${environmentId} AND g.id = ${errorGroupId} FOR NO KEY UPDATE`);
  return row ?? null;
}

/** In the order of their keys, so that two that count never wait for each other. */
export const lockErrorGroups = (
  tx: Tx,
  keys: readonly { environmentId: Uuid<"env">; errorGroupId: Uuid<"err"> }[],
): Promise<ErrorGroupState[]> =>
  tx.query<ErrorGroupState>(sql`
    SELECT ${STATE} FROM error_groups g
    JOIN unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.errorGroupId)}::uuid[])
      AS k (environment_id, id) ON g.environment_id = k.environment_id AND g.id = k.id
    ORDER BY g.environment_id, g.id FOR NO KEY UPDATE OF g`);

const ofCounting = (now: number): Sql => isNotSetAside(COUNT_LOOP, sql`s.environment_id`, sql`s.run_id`, now);

/** A condition: a run is still to be counted. */
export const hasUncounted = (now: number): Sql =>
  sql`EXISTS (SELECT FROM error_group_runs s WHERE NOT s.counted AND ${ofCounting(now)})`;

/** Those that another server is counting are left to it. */
export const lockUncounted = (tx: Tx, now: number, limit: number): Promise<UncountedSighting[]> =>
  tx.query<UncountedSighting>(sql`
    SELECT s.environment_id, s.error_group_id, s.run_id, s.seen_at, r.entrypoint_kind, r.entrypoint
    FROM error_group_runs s
    LEFT JOIN runs r ON r.environment_id = s.environment_id AND r.id = s.run_id
    WHERE NOT s.counted AND ${ofCounting(now)}
    ORDER BY s.environment_id, s.error_group_id, s.run_id LIMIT ${limit}
    FOR UPDATE OF s SKIP LOCKED`);

/** The failure of an ended run, as JSON. */
export async function findFailure(
  tx: Tx,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<string | null> {
  const [row] = await tx.query<{ failure: string | null }>(sql`
    SELECT failure FROM run_results WHERE environment_id = ${environmentId} AND run_id = ${runId}`);
  return row?.failure ?? null;
}

/** Those beyond the number that an environment keeps, which were not seen for longest. */
export async function listExcessGroups(
  tx: Tx,
  environmentId: Uuid<"env">,
  kept: number,
  limit: number,
): Promise<Uuid<"err">[]> {
  const rows = await tx.query<{ id: Uuid<"err"> }>(sql`
    SELECT id FROM error_groups WHERE environment_id = ${environmentId}
    ORDER BY last_seen_at DESC, id DESC OFFSET ${kept} LIMIT ${limit}`);
  return rows.map(({ id }) => id);
}
