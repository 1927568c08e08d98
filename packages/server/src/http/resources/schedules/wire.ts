import {
  encodeId,
  type Schedule,
  type ScheduleOccurrence,
  type ScheduleOptions,
  type SkipReason,
  type Uuid,
} from "@keelson/contract";
import type { OccurrenceRow } from "../../../core/schedules/occurrence-reads.ts";
import type { ScheduleRow } from "../../../core/schedules/schedule-reads.ts";
import { faultOf, hasSlots } from "../../../core/schedules/schedule.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export function toSchedule(row: ScheduleRow): Schedule {
  const fault = faultOf(row);
  const { status } = row;
  if (status === "removed") throw new Error("Removed schedules are also shown.");
  return {
    id: encodeId("sched", row.id),
    project_id: encodeId("proj", row.projectId),
    environment_id: encodeId("env", row.environmentId),
    type: row.type,
    status,
    status_reason:
      fault === null || status !== "errored"
        ? null
        : { kind: fault.kind, message: fault.message, details: { task: row.task } },
    deduplication_key: row.deduplicationKey,
    external_id: row.externalId,
    task: row.task,
    cron: row.cron,
    timezone: row.timezone,
    active: hasSlots(status),
    options: JSON.parse(row.options) as ScheduleOptions,
    next_run_at: toTimestampOrNull(row.nextRunAt),
    last_run_at: toTimestampOrNull(row.lastRunAt),
    last_run_id: row.lastRunId === null ? null : encodeId("run", row.lastRunId),
    last_error:
      fault === null ? null : { kind: fault.kind, message: fault.message, at: toTimestamp(fault.at) },
    created_at: toTimestamp(row.createdAt),
    updated_at: toTimestamp(row.updatedAt),
  };
}

/** Reasons that a slot's own start did not give. */
const REASON_MESSAGES: Partial<Record<SkipReason, string>> = {
  missed: "No server processed this due time before the next one.",
  changed: "The schedule was changed before a server had come to this time.",
  deactivated: "The schedule was deactivated before a server had come to this time.",
  removed: "A deployment without this schedule was promoted before a server had come to this time.",
};

export const toOccurrence = (scheduleId: Uuid<"sched">, row: OccurrenceRow): ScheduleOccurrence => ({
  schedule_id: encodeId("sched", scheduleId),
  scheduled_at: toTimestamp(row.scheduledAt),
  status: row.status,
  run_id: row.runId === null ? null : encodeId("run", row.runId),
  reason:
    row.reason === null
      ? null
      : { kind: row.reason, message: row.message ?? REASON_MESSAGES[row.reason] ?? row.reason },
  created_at: toTimestamp(row.createdAt),
});
