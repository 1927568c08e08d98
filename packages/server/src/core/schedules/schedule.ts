import type {
  OccurrenceStatus,
  ScheduledPayload,
  ScheduleErrorKind,
  ScheduleStatus,
  SkipReason,
} from "@keelson/contract";

/**
 * The life of a schedule.
 *
 * A schedule is active or not, as its owner says. An active one has a next due time, its next slot; each slot is settled
 * once, in the ledger of occurrences: it fired, and then its run was inserted in the same transaction, or it was skipped
 * with a reason. Of slots that are due together, because no server was running, the newest fires. An active schedule whose
 * task cannot be started is errored; its slots go on and are skipped, so it recovers with the first that can be started.
 */
export const SCHEDULE_EDGES = [
  { from: "active", on: "deactivate", to: "inactive" },
  { from: "active", on: "the task is gone or refuses the start", to: "errored" },
  { from: "errored", on: "a run was started, or the task is deployed again", to: "active" },
  { from: "errored", on: "deactivate", to: "inactive" },
  { from: "inactive", on: "activate", to: "active" },
] as const satisfies readonly { from: ScheduleStatus; on: string; to: ScheduleStatus }[];

export type ScheduleFault = { kind: ScheduleErrorKind; message: string; at: number };

export const scheduleStatus = (schedule: { active: boolean; fault: ScheduleFault | null }): ScheduleStatus =>
  !schedule.active ? "inactive" : schedule.fault === null ? "active" : "errored";

/** The fault that a row holds in three columns. */
export const faultOf = (row: {
  errorKind: ScheduleErrorKind | null;
  errorMessage: string | null;
  errorAt: number | null;
}): ScheduleFault | null =>
  row.errorKind === null || row.errorMessage === null || row.errorAt === null
    ? null
    : { kind: row.errorKind, message: row.errorMessage, at: row.errorAt };

/** The task of a schedule is not in the current deployment; `version` is null while there is none. */
export const taskNotFound = (task: string, version: string | null, at: number): ScheduleFault => ({
  kind: "task_not_found",
  message:
    version === null
      ? `Nothing is deployed in this environment yet, so there is no task "${task}". Deploy it; the schedule goes on by itself.`
      : `There is no task "${task}" in deployment ${version}. Deploy the task, or change the schedule; it goes on by itself.`,
  at,
});

export type Occurrence = {
  scheduledAt: number;
  status: OccurrenceStatus;
  runId: string | null;
  reason: SkipReason | null;
  /** What the start was refused with; other reasons explain themselves. */
  message: string | null;
};

export const skipped = (
  scheduledAt: number,
  reason: SkipReason,
  message: string | null = null,
): Occurrence => ({
  scheduledAt,
  status: "skipped",
  runId: null,
  reason,
  message,
});

type NextRun = (after: number) => number | null;

export type DueSlots = {
  /** Oldest first. */
  missed: number[];
  /** The newest due slot; null when the limit was reached before it. */
  newest: number | null;
  next: number | null;
};

/** The slots from `nextRunAt` to now, at most `limit` of them; what is beyond stays due. */
export function decideDueSlots(nextRunAt: number, now: number, limit: number, nextRun: NextRun): DueSlots {
  const slots: number[] = [];
  let next: number | null = nextRunAt;
  while (next !== null && next <= now && slots.length < limit) {
    slots.push(next);
    next = nextRun(next);
  }
  if (next !== null && next <= now) return { missed: slots, newest: null, next };
  return { missed: slots.slice(0, -1), newest: slots.at(-1) ?? null, next };
}

/**
 * The first slot of a definition that begins to apply now. Later than every slot that is settled: another server, whose
 * clock is ahead, may have settled one that is not due here yet.
 */
export const decideFirstSlot = (now: number, lastSlotAt: number | null, nextRun: NextRun): number | null =>
  nextRun(Math.max(now, lastSlotAt ?? now));

export type SlotOwner = {
  id: string;
  deduplicationKey: string;
  timezone: string;
  lastFiredSlotAt: number | null;
};

/** What a scheduled run is given. */
export const scheduledPayload = (
  scheduleId: string,
  { deduplicationKey, timezone, lastFiredSlotAt }: SlotOwner,
  slot: number,
): ScheduledPayload => ({
  schedule_id: scheduleId,
  deduplication_key: deduplicationKey,
  scheduled_at: new Date(slot).toISOString(),
  last_scheduled_at: lastFiredSlotAt === null ? null : new Date(lastFiredSlotAt).toISOString(),
  timezone,
});
