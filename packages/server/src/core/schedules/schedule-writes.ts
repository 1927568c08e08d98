import type { ScheduleType } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { Occurrence, ScheduleFault } from "./schedule.ts";

/** What a schedule says of itself. `options` is JSON text. */
export type Definition = {
  externalId: string | null;
  task: string;
  cron: string;
  timezone: string;
  active: boolean;
  options: string;
};

export type ScheduleInsert = Definition & {
  id: string;
  environmentId: string;
  projectId: string;
  type: ScheduleType;
  deduplicationKey: string;
  nextRunAt: number | null;
  fault: ScheduleFault | null;
  now: number;
};

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

/** False when the environment has a schedule of that key, which may have been removed. */
export async function insertSchedule(tx: Tx, row: ScheduleInsert): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO schedules (environment_id, id, project_id, type, deduplication_key, external_id, task, cron, timezone, active,
      options, next_run_at, error_kind, error_message, error_at, created_at, updated_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.projectId}, ${row.type}, ${row.deduplicationKey}, ${row.externalId},
      ${row.task}, ${row.cron}, ${row.timezone}, ${row.active}, ${row.options}, to_timestamp(${seconds(row.nextRunAt)}::float8),
      ${row.fault?.kind ?? null}, ${row.fault?.message ?? null}, to_timestamp(${seconds(row.fault?.at ?? null)}::float8),
      to_timestamp(${seconds(row.now)}::float8), to_timestamp(${seconds(row.now)}::float8))
    ON CONFLICT (environment_id, deduplication_key) DO NOTHING
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

export type DefinitionChange = Definition & {
  environmentId: string;
  id: string;
  type: ScheduleType;
  nextRunAt: number | null;
  lastSlotAt: number | null;
  fault: ScheduleFault | null;
  createdAt: number;
  now: number;
};

/** Puts a definition in force, also of a schedule that had been removed. */
export async function updateDefinition(tx: Tx, change: DefinitionChange): Promise<void> {
  await tx.query(sql`
    UPDATE schedules SET type = ${change.type}, external_id = ${change.externalId}, task = ${change.task}, cron = ${change.cron},
      timezone = ${change.timezone}, active = ${change.active}, options = ${change.options},
      next_run_at = to_timestamp(${seconds(change.nextRunAt)}::float8), last_slot_at = to_timestamp(${seconds(change.lastSlotAt)}::float8),
      error_kind = ${change.fault?.kind ?? null}, error_message = ${change.fault?.message ?? null},
      error_at = to_timestamp(${seconds(change.fault?.at ?? null)}::float8), removed_at = NULL,
      created_at = to_timestamp(${seconds(change.createdAt)}::float8), updated_at = to_timestamp(${seconds(change.now)}::float8)
    WHERE environment_id = ${change.environmentId} AND id = ${change.id}`);
}

/** Of a declarative schedule that is no longer declared. */
export async function markScheduleRemoved(
  tx: Tx,
  environmentId: string,
  scheduleId: string,
  lastSlotAt: number | null,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE schedules SET removed_at = to_timestamp(${seconds(now)}::float8), next_run_at = NULL,
      last_slot_at = to_timestamp(${seconds(lastSlotAt)}::float8), updated_at = to_timestamp(${seconds(now)}::float8)
    WHERE environment_id = ${environmentId} AND id = ${scheduleId}`);
}

/** With its ledger; runs that it started stay. */
export async function deleteScheduleRow(tx: Tx, environmentId: string, scheduleId: string): Promise<void> {
  await tx.query(sql`DELETE FROM schedules WHERE environment_id = ${environmentId} AND id = ${scheduleId}`);
}

/** Schedules of tasks that can be started again are no longer errored. */
export async function clearScheduleFaults(
  tx: Tx,
  environmentId: string,
  declaredTasks: readonly string[],
): Promise<void> {
  await tx.query(sql`
    UPDATE schedules SET error_kind = NULL, error_message = NULL, error_at = NULL
    WHERE environment_id = ${environmentId} AND error_kind IS NOT NULL AND task = ANY(${declaredTasks}::text[])`);
}

export async function markScheduleFaults(
  tx: Tx,
  environmentId: string,
  task: string,
  fault: ScheduleFault,
): Promise<void> {
  await tx.query(sql`
    UPDATE schedules SET error_kind = ${fault.kind}, error_message = ${fault.message}, error_at = to_timestamp(${seconds(fault.at)}::float8)
    WHERE environment_id = ${environmentId} AND task = ${task} AND removed_at IS NULL`);
}

export type OccurrenceInsert = Occurrence & { environmentId: string; scheduleId: string };

/** What a round of firing leaves in a schedule. */
export type Settled = {
  environmentId: string;
  id: string;
  nextRunAt: number | null;
  lastSlotAt: number;
  lastFiredSlotAt: number | null;
  lastRunAt: number | null;
  lastRunId: string | null;
  fault: ScheduleFault | null;
};

/** The ledger of a round and the schedules' next slots, in one statement. */
export async function recordSettled(
  tx: Tx,
  occurrences: readonly OccurrenceInsert[],
  settled: readonly Settled[],
  now: number,
): Promise<void> {
  await tx.query(sql`
    WITH ledger AS (${insertOccurrencesStatement(occurrences, now)})
    UPDATE schedules s SET next_run_at = to_timestamp(n.next_run_at), last_slot_at = to_timestamp(n.last_slot_at),
      last_fired_slot_at = to_timestamp(n.last_fired_slot_at), last_run_at = to_timestamp(n.last_run_at), last_run_id = n.last_run_id,
      error_kind = n.error_kind, error_message = n.error_message, error_at = to_timestamp(n.error_at)
    FROM unnest(
      ${settled.map((row) => row.environmentId)}::uuid[], ${settled.map((row) => row.id)}::uuid[],
      ${settled.map((row) => seconds(row.nextRunAt))}::float8[], ${settled.map((row) => seconds(row.lastSlotAt))}::float8[],
      ${settled.map((row) => seconds(row.lastFiredSlotAt))}::float8[], ${settled.map((row) => seconds(row.lastRunAt))}::float8[],
      ${settled.map((row) => row.lastRunId)}::uuid[], ${settled.map((row) => row.fault?.kind ?? null)}::text[],
      ${settled.map((row) => row.fault?.message ?? null)}::text[], ${settled.map((row) => seconds(row.fault?.at ?? null))}::float8[]
    ) AS n (environment_id, id, next_run_at, last_slot_at, last_fired_slot_at, last_run_at, last_run_id, error_kind, error_message, error_at)
    WHERE s.environment_id = n.environment_id AND s.id = n.id`);
}

/** Slots that a change of their schedule overtook. */
export async function insertOccurrences(
  tx: Tx,
  occurrences: readonly OccurrenceInsert[],
  now: number,
): Promise<void> {
  if (occurrences.length > 0) await tx.query(insertOccurrencesStatement(occurrences, now));
}

const insertOccurrencesStatement = (occurrences: readonly OccurrenceInsert[], now: number) => sql`
  INSERT INTO schedule_occurrences (environment_id, schedule_id, scheduled_at, status, run_id, reason, message, created_at)
  SELECT environment_id, schedule_id, to_timestamp(scheduled_at), status, run_id, reason, message, to_timestamp(${seconds(now)}::float8)
  FROM unnest(
    ${occurrences.map((row) => row.environmentId)}::uuid[], ${occurrences.map((row) => row.scheduleId)}::uuid[],
    ${occurrences.map((row) => seconds(row.scheduledAt))}::float8[], ${occurrences.map((row) => row.status)}::text[],
    ${occurrences.map((row) => row.runId)}::uuid[], ${occurrences.map((row) => row.reason)}::text[],
    ${occurrences.map((row) => row.message)}::text[]
  ) AS o (environment_id, schedule_id, scheduled_at, status, run_id, reason, message)`;
