import type { ScheduleErrorKind, ScheduleType } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";

/** A schedule as it is stored. `options` is JSON text, times are milliseconds. */
export type ScheduleRow = {
  id: string;
  environmentId: string;
  projectId: string;
  type: ScheduleType;
  deduplicationKey: string;
  externalId: string | null;
  task: string;
  cron: string;
  timezone: string;
  active: boolean;
  options: string;
  nextRunAt: number | null;
  lastSlotAt: number | null;
  lastFiredSlotAt: number | null;
  lastRunAt: number | null;
  lastRunId: string | null;
  errorKind: ScheduleErrorKind | null;
  errorMessage: string | null;
  errorAt: number | null;
  removedAt: number | null;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`
  s.id, s.environment_id AS "environmentId", s.project_id AS "projectId", s.type, s.deduplication_key AS "deduplicationKey",
  s.external_id AS "externalId", s.task, s.cron, s.timezone, s.active, s.options, s.next_run_at AS "nextRunAt",
  s.last_slot_at AS "lastSlotAt", s.last_fired_slot_at AS "lastFiredSlotAt", s.last_run_at AS "lastRunAt",
  s.last_run_id AS "lastRunId", s.error_kind AS "errorKind", s.error_message AS "errorMessage", s.error_at AS "errorAt",
  s.removed_at AS "removedAt", s.created_at AS "createdAt", s.updated_at AS "updatedAt"`);

export async function findSchedule(
  db: Queryable,
  environmentId: string,
  scheduleId: string,
): Promise<ScheduleRow | null> {
  const [row] = await db.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId} AND s.id = ${scheduleId} AND s.removed_at IS NULL`);
  return row ?? null;
}

export type ScheduleFilter = {
  task: string | null;
  type: ScheduleType | null;
  deduplicationKey: string | null;
  externalId: string | null;
};

/** Newest first, after the schedule `before`. */
export function listSchedules(
  db: Queryable,
  environmentId: string,
  filter: ScheduleFilter,
  before: string | null,
  limit: number,
): Promise<ScheduleRow[]> {
  const conditions = [sql`s.environment_id = ${environmentId} AND s.removed_at IS NULL`];
  if (before !== null) conditions.push(sql`s.id < ${before}`);
  if (filter.task !== null) conditions.push(sql`s.task = ${filter.task}`);
  if (filter.type !== null) conditions.push(sql`s.type = ${filter.type}`);
  if (filter.deduplicationKey !== null)
    conditions.push(sql`s.deduplication_key = ${filter.deduplicationKey}`);
  if (filter.externalId !== null) conditions.push(sql`s.external_id = ${filter.externalId}`);
  return db.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s WHERE ${joinSql(conditions, " AND ")} ORDER BY s.id DESC LIMIT ${limit}`);
}

export async function lockSchedule(
  tx: Tx,
  environmentId: string,
  scheduleId: string,
): Promise<ScheduleRow | null> {
  const [row] = await tx.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId} AND s.id = ${scheduleId} AND s.removed_at IS NULL FOR UPDATE`);
  return row ?? null;
}

/** Also one that was removed: its key is still its own. */
export async function lockScheduleOfKey(
  tx: Tx,
  environmentId: string,
  deduplicationKey: string,
): Promise<ScheduleRow | null> {
  const [row] = await tx.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId} AND s.deduplication_key = ${deduplicationKey} FOR UPDATE`);
  return row ?? null;
}

/** The declarative schedules of an environment and whatever has one of the keys, removed ones too. */
export function lockDeclaredSchedules(
  tx: Tx,
  environmentId: string,
  keys: readonly string[],
): Promise<ScheduleRow[]> {
  return tx.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId}
      AND (s.deduplication_key = ANY(${keys}::text[]) OR (s.type = 'declarative' AND s.removed_at IS NULL))
    ORDER BY s.id FOR UPDATE`);
}

/** What a schedule is checked against: the environment's current deployment, which does not change before the commit. */
export async function lockDeploymentPointer(tx: Tx, environmentId: string): Promise<string | null> {
  const [row] = await tx.query<{ id: string | null }>(sql`
    SELECT current_deployment_id AS id FROM environments WHERE id = ${environmentId} FOR SHARE`);
  return row?.id ?? null;
}

/** When the earliest slot of all is due; null while no schedule is active. */
export async function findNextRunAt(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ at: number }>(sql`
    SELECT next_run_at AS at FROM schedules WHERE next_run_at IS NOT NULL ORDER BY next_run_at LIMIT 1`);
  return row?.at ?? null;
}

/** A condition: a schedule is due by then. */
export const hasSchedulesDueBy = (at: number): Sql =>
  sql`EXISTS (SELECT FROM schedules s WHERE s.next_run_at <= to_timestamp(${at}::float8 / 1000))`;

/** A due schedule, and where its run would start. */
export type DueSchedule = ScheduleRow & {
  nextRunAt: number;
  organizationId: string;
  workerGroupId: string;
  currentDeploymentId: string | null;
};

/** Schedules with a due slot, the longest due first. Those that another server is settling are left to it. */
export function lockDueSchedules(tx: Tx, now: number, limit: number): Promise<DueSchedule[]> {
  return tx.query<DueSchedule>(sql`
    SELECT ${COLUMNS}, p.organization_id AS "organizationId", v.worker_group_id AS "workerGroupId",
      v.current_deployment_id AS "currentDeploymentId"
    FROM schedules s
    JOIN environments v ON v.id = s.environment_id
    JOIN projects p ON p.id = v.project_id
    WHERE s.next_run_at <= to_timestamp(${now}::float8 / 1000)
    ORDER BY s.next_run_at LIMIT ${limit}
    FOR UPDATE OF s SKIP LOCKED`);
}

/** Tasks that schedules are for and that are not among the declared ones, as far as the schedules do not say so yet. */
export async function listMissingTasks(
  tx: Tx,
  environmentId: string,
  declaredTasks: readonly string[],
): Promise<string[]> {
  const rows = await tx.query<{ task: string }>(sql`
    SELECT DISTINCT task FROM schedules
    WHERE environment_id = ${environmentId} AND removed_at IS NULL AND task <> ALL(${declaredTasks}::text[])
    ORDER BY task`);
  return rows.map(({ task }) => task);
}
