import type { ScheduleType, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Occurrence, ScheduleStanding } from "./schedule.ts";

/** What a schedule says of itself. `options` is JSON text. */
export type Definition = {
  externalId: string | null;
  task: string;
  cron: string;
  timezone: string;
  options: string;
};

export type ScheduleInsert = Definition &
  ScheduleStanding & {
    id: Uuid<"sched">;
    environmentId: Uuid<"env">;
    projectId: Uuid<"proj">;
    type: ScheduleType;
    deduplicationKey: string;
    nextRunAt: number | null;
    now: number;
  };

/** False when the environment has a schedule of that key, which may have been removed. */
export async function insertSchedule(tx: Tx, row: ScheduleInsert): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO schedules (environment_id, id, project_id, type, deduplication_key, external_id, task, cron, timezone, status,
      options, next_run_at, error_kind, error_message, error_at, created_at, updated_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.projectId}, ${row.type}, ${row.deduplicationKey}, ${row.externalId},
      ${row.task}, ${row.cron}, ${row.timezone}, ${row.status}, ${row.options}, ${timestamp(row.nextRunAt)},
      ${row.fault?.kind ?? null}, ${row.fault?.message ?? null}, ${timestamp(row.fault?.at ?? null)},
      ${timestamp(row.now)}, ${timestamp(row.now)})
    ON CONFLICT (environment_id, deduplication_key) DO NOTHING
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

export type DefinitionChange = Definition &
  ScheduleStanding & {
    environmentId: Uuid<"env">;
    id: Uuid<"sched">;
    type: ScheduleType;
    nextRunAt: number | null;
    lastSlotAt: number | null;
    createdAt: number;
    now: number;
  };

/** Puts a definition in force, also of a schedule that had been removed. */
export async function updateDefinition(tx: Tx, change: DefinitionChange): Promise<void> {
  await tx.query(sql`
    UPDATE schedules SET type = ${change.type}, external_id = ${change.externalId}, task = ${change.task}, cron = ${change.cron},
      timezone = ${change.timezone}, status = ${change.status}, options = ${change.options},
      next_run_at = ${timestamp(change.nextRunAt)}, last_slot_at = ${timestamp(change.lastSlotAt)},
      error_kind = ${change.fault?.kind ?? null}, error_message = ${change.fault?.message ?? null},
      error_at = ${timestamp(change.fault?.at ?? null)},
      created_at = ${timestamp(change.createdAt)}, updated_at = ${timestamp(change.now)}
    WHERE environment_id = ${change.environmentId} AND id = ${change.id}`);
}

/** Of a declarative schedule that is no longer declared. */
export async function markScheduleRemoved(
  tx: Tx,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
  lastSlotAt: number | null,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE schedules SET status = 'removed', next_run_at = NULL,
      last_slot_at = ${timestamp(lastSlotAt)}, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${scheduleId}`);
}

/** With its ledger; runs that it started stay. */
export async function deleteScheduleRow(
  tx: Tx,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
): Promise<void> {
  await tx.query(sql`DELETE FROM schedules WHERE environment_id = ${environmentId} AND id = ${scheduleId}`);
}

/** What schedules are under a deployment that is being promoted. */
export async function recordStandings(
  tx: Tx,
  environmentId: Uuid<"env">,
  schedules: readonly (ScheduleStanding & { id: Uuid<"sched"> })[],
): Promise<void> {
  if (schedules.length === 0) return;
  await tx.query(sql`
    UPDATE schedules s SET status = n.status, error_kind = n.error_kind, error_message = n.error_message,
      error_at = to_timestamp(n.error_at / 1000)
    FROM unnest(
      ${schedules.map(({ id }) => id)}::uuid[], ${schedules.map(({ status }) => status)}::text[],
      ${schedules.map(({ fault }) => fault?.kind ?? null)}::text[], ${schedules.map(({ fault }) => fault?.message ?? null)}::text[],
      ${schedules.map(({ fault }) => fault?.at ?? null)}::float8[]
    ) AS n (id, status, error_kind, error_message, error_at)
    WHERE s.environment_id = ${environmentId} AND s.id = n.id`);
}

export type OccurrenceInsert = Occurrence & { environmentId: Uuid<"env">; scheduleId: Uuid<"sched"> };

/** What a round of firing leaves in a schedule. */
export type FiredSchedule = ScheduleStanding & {
  environmentId: Uuid<"env">;
  id: Uuid<"sched">;
  nextRunAt: number | null;
  lastSlotAt: number;
  lastFiredSlotAt: number | null;
  lastRunAt: number | null;
  lastRunId: Uuid<"run"> | null;
};

/** The ledger of a round and the schedules' next slots, in one statement. */
export async function recordFired(
  tx: Tx,
  occurrences: readonly OccurrenceInsert[],
  fired: readonly FiredSchedule[],
  now: number,
): Promise<void> {
  await tx.query(sql`
    WITH ledger AS (${insertOccurrencesStatement(occurrences, now)})
    UPDATE schedules s SET next_run_at = to_timestamp(n.next_run_at / 1000), last_slot_at = to_timestamp(n.last_slot_at / 1000),
      last_fired_slot_at = to_timestamp(n.last_fired_slot_at / 1000), last_run_at = to_timestamp(n.last_run_at / 1000), last_run_id = n.last_run_id, status = n.status,
      error_kind = n.error_kind, error_message = n.error_message, error_at = to_timestamp(n.error_at / 1000)
    FROM unnest(
      ${fired.map((row) => row.environmentId)}::uuid[], ${fired.map((row) => row.id)}::uuid[],
      ${fired.map((row) => row.nextRunAt)}::float8[], ${fired.map((row) => row.lastSlotAt)}::float8[],
      ${fired.map((row) => row.lastFiredSlotAt)}::float8[], ${fired.map((row) => row.lastRunAt)}::float8[],
      ${fired.map((row) => row.lastRunId)}::uuid[], ${fired.map((row) => row.fault?.kind ?? null)}::text[],
      ${fired.map((row) => row.fault?.message ?? null)}::text[], ${fired.map((row) => row.fault?.at ?? null)}::float8[], ${fired.map((row) => row.status)}::text[]
    ) AS n (environment_id, id, next_run_at, last_slot_at, last_fired_slot_at, last_run_at, last_run_id, error_kind, error_message, error_at, status)
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
  SELECT environment_id, schedule_id, to_timestamp(scheduled_at / 1000), status, run_id, reason, message, ${timestamp(now)}
  FROM unnest(
    ${occurrences.map((row) => row.environmentId)}::uuid[], ${occurrences.map((row) => row.scheduleId)}::uuid[],
    ${occurrences.map((row) => row.scheduledAt)}::float8[], ${occurrences.map((row) => row.status)}::text[],
    ${occurrences.map((row) => row.runId)}::uuid[], ${occurrences.map((row) => row.reason)}::text[],
    ${occurrences.map((row) => row.message)}::text[]
  ) AS o (environment_id, schedule_id, scheduled_at, status, run_id, reason, message)`;

/** Takes slots that have not come yet out of schedules and their ledger, and gives the schedules their next slots. */
export async function setSlotsBack(
  tx: Tx,
  schedules: readonly { environmentId: Uuid<"env">; id: Uuid<"sched">; nextRunAt: number | null }[],
  now: number,
): Promise<void> {
  const environmentIds = schedules.map(({ environmentId }) => environmentId);
  const ids = schedules.map(({ id }) => id);
  await tx.query(sql`
    WITH gone AS (
      DELETE FROM schedule_occurrences o USING unnest(${environmentIds}::uuid[], ${ids}::uuid[]) AS n (environment_id, id)
      WHERE o.environment_id = n.environment_id AND o.schedule_id = n.id AND o.scheduled_at > ${timestamp(now)}
    )
    UPDATE schedules s SET next_run_at = CASE WHEN s.next_run_at IS NOT NULL THEN to_timestamp(n.next_run_at / 1000) END,
      last_slot_at = least(s.last_slot_at, ${timestamp(now)}), last_fired_slot_at = least(s.last_fired_slot_at, ${timestamp(now)}),
      updated_at = ${timestamp(now)}
    FROM unnest(
      ${environmentIds}::uuid[], ${ids}::uuid[], ${schedules.map(({ nextRunAt }) => nextRunAt)}::float8[]
    ) AS n (environment_id, id, next_run_at)
    WHERE s.environment_id = n.environment_id AND s.id = n.id`);
}
