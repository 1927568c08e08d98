import type { ScheduleErrorKind, ScheduleType, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { ScheduleState } from "./schedule.ts";

/** A schedule as it is stored. `options` is JSON text, times are milliseconds. */
export type ScheduleRow = {
  id: Uuid<"sched">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  type: ScheduleType;
  deduplicationKey: string;
  externalId: string | null;
  task: string;
  cron: string;
  timezone: string;
  status: ScheduleState;
  options: string;
  nextRunAt: number | null;
  lastSlotAt: number | null;
  lastFiredSlotAt: number | null;
  lastRunAt: number | null;
  lastRunId: Uuid<"run"> | null;
  errorKind: ScheduleErrorKind | null;
  errorMessage: string | null;
  errorAt: number | null;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`
  s.id, s.environment_id, s.project_id, s.type, s.deduplication_key,
  s.external_id, s.task, s.cron, s.timezone, s.status, s.options, s.next_run_at,
  s.last_slot_at, s.last_fired_slot_at, s.last_run_at,
  s.last_run_id, s.error_kind, s.error_message, s.error_at,
  s.created_at, s.updated_at`);

export async function findSchedule(
  db: Queryable,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
): Promise<ScheduleRow | null> {
  const [row] = await db.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId} AND s.id = ${scheduleId} AND s.status <> 'removed'`);
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
  environmentId: Uuid<"env">,
  filter: ScheduleFilter,
  before: string | null,
  limit: number,
): Promise<ScheduleRow[]> {
  const conditions = [sql`s.environment_id = ${environmentId} AND s.status <> 'removed'`];
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
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
): Promise<ScheduleRow | null> {
  const [row] = await tx.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId} AND s.id = ${scheduleId} AND s.status <> 'removed' FOR UPDATE`);
  return row ?? null;
}

/** Also one that was removed: its key is still its own. */
export async function lockScheduleOfKey(
  tx: Tx,
  environmentId: Uuid<"env">,
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
  environmentId: Uuid<"env">,
  keys: readonly string[],
): Promise<ScheduleRow[]> {
  return tx.query<ScheduleRow>(sql`
    SELECT ${COLUMNS} FROM schedules s
    WHERE s.environment_id = ${environmentId}
      AND (s.deduplication_key = ANY(${keys}::text[]) OR (s.type = 'declarative' AND s.status <> 'removed'))
    ORDER BY s.id FOR UPDATE`);
}

/** What a schedule is checked against: the environment's current deployment, which does not change before the commit. */
export async function lockDeploymentPointer(tx: Tx, environmentId: Uuid<"env">): Promise<Uuid<"dep"> | null> {
  const [row] = await tx.query<{ id: Uuid<"dep"> | null }>(sql`
    SELECT current_deployment_id AS id FROM environments WHERE id = ${environmentId} FOR SHARE`);
  return row?.id ?? null;
}

const ofFiring = (now: number): Sql => isNotSetAside("fire-schedules", sql`s.environment_id`, sql`s.id`, now);

/** When the earliest slot of all is due; null while no schedule is active. */
export async function findNextRunAt(db: Queryable, now: number): Promise<number | null> {
  const [row] = await db.query<{ at: number }>(sql`
    SELECT s.next_run_at AS at FROM schedules s WHERE s.next_run_at IS NOT NULL AND ${ofFiring(now)}
    ORDER BY s.next_run_at LIMIT 1`);
  return row?.at ?? null;
}

/** A condition: a schedule is due by then. */
export const hasSchedulesDueBy = (at: number): Sql =>
  sql`EXISTS (SELECT FROM schedules s WHERE s.next_run_at <= ${timestamp(at)} AND ${ofFiring(at)})`;

/** A due schedule, and where its run would start. */
export type DueSchedule = ScheduleRow & {
  nextRunAt: number;
  organizationId: Uuid<"org">;
  workerGroupId: Uuid<"wgrp">;
  currentDeploymentId: Uuid<"dep"> | null;
};

/** Schedules with a due slot, the longest due first. Those that another server is settling are left to it. */
export function lockDueSchedules(tx: Tx, now: number, limit: number): Promise<DueSchedule[]> {
  return tx.query<DueSchedule>(sql`
    SELECT ${COLUMNS}, p.organization_id, v.worker_group_id,
      v.current_deployment_id
    FROM schedules s
    JOIN environments v ON v.id = s.environment_id
    JOIN projects p ON p.id = v.project_id
    WHERE s.next_run_at <= ${timestamp(now)} AND ${ofFiring(now)}
    ORDER BY s.next_run_at LIMIT ${limit}
    FOR UPDATE OF s SKIP LOCKED`);
}

/** Those for which a deployment with these tasks may change what they are: their task is not there, or they have an error. */
export const lockSchedulesToCheck = (
  tx: Tx,
  environmentId: Uuid<"env">,
  declaredTasks: readonly string[],
): Promise<Pick<ScheduleRow, "id" | "task" | "status">[]> =>
  tx.query(sql`
    SELECT s.id, s.task, s.status FROM schedules s
    WHERE s.environment_id = ${environmentId} AND s.status <> 'removed'
      AND (s.error_kind IS NOT NULL OR s.task <> ALL(${declaredTasks}::text[]))
    ORDER BY s.id FOR UPDATE`);

/** Those of which a clock that was ahead has settled slots, or reckoned the next one, after that instant. */
export const lockAheadSchedules = (
  tx: Tx,
  after: number,
  limit: number,
): Promise<Pick<ScheduleRow, "environmentId" | "id" | "cron" | "timezone">[]> =>
  tx.query(sql`
    SELECT s.environment_id, s.id, s.cron, s.timezone FROM schedules s
    WHERE s.status <> 'removed' AND greatest(s.last_slot_at, s.updated_at) > ${timestamp(after)}
    ORDER BY s.environment_id, s.id LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`);
