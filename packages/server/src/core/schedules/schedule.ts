import type {
  OccurrenceStatus,
  ScheduledPayload,
  ScheduleErrorKind,
  SkipReason,
  Uuid,
} from "@keelson/contract";

/** `removed`: a declarative one that the current deployment does not declare; nobody sees it. */
export const SCHEDULE_STATES = ["active", "inactive", "errored", "removed"] as const;
export type ScheduleState = (typeof SCHEDULE_STATES)[number];

/**
 * The life of a schedule.
 *
 * A schedule is active or not, as its owner says. One that is not inactive has a next due time, its next slot; each slot
 * is settled once, in the ledger of occurrences: it fired, and then its run was inserted in the same transaction, or it was
 * skipped with a reason. Of slots that are due together, because no server was running, the newest fires. A schedule whose
 * task cannot be started is errored; its slots go on and are skipped, so it recovers with the first that can be started. A
 * removed one keeps its ledger, so that a deployment which declares it again fires no slot twice.
 */
export const SCHEDULE_EDGES = [
  { from: "active", on: "deactivate", to: "inactive" },
  { from: "active", on: "the task is gone or refuses the start", to: "errored" },
  { from: "active", on: "it is no longer declared", to: "removed" },
  { from: "errored", on: "a run was started, or the task is deployed again", to: "active" },
  { from: "errored", on: "deactivate", to: "inactive" },
  { from: "errored", on: "it is no longer declared", to: "removed" },
  { from: "inactive", on: "activate", to: "active" },
  { from: "inactive", on: "activate, and the task is gone", to: "errored" },
  { from: "inactive", on: "it is no longer declared", to: "removed" },
  { from: "removed", on: "it is declared again", to: "active" },
  { from: "removed", on: "it is declared again, and the task is gone", to: "errored" },
  { from: "removed", on: "it is declared again as inactive", to: "inactive" },
] as const satisfies readonly { from: ScheduleState; on: string; to: ScheduleState }[];

export type ScheduleFault = { kind: ScheduleErrorKind; message: string; at: number };

/** What a schedule is, and why it cannot start runs or last could not. */
export type ScheduleStanding = { status: ScheduleState; fault: ScheduleFault | null };

/** Whether the slots of a schedule come due. */
export function hasSlots(status: ScheduleState): boolean {
  switch (status) {
    case "active":
    case "errored":
      return true;
    case "inactive":
    case "removed":
      return false;
  }
}

/** A definition comes into force, whatever the schedule was before. @param fault why its task could not be started now. */
export function decideDefined(isActive: boolean, fault: ScheduleFault | null): ScheduleStanding {
  if (!isActive) return { status: "inactive", fault };
  return { status: fault === null ? "active" : "errored", fault };
}

/** A slot was to start a run. @param outcome why it could not; null when it did. */
export function decideFired(status: ScheduleState, outcome: ScheduleFault | null): ScheduleStanding {
  switch (status) {
    case "active":
    case "errored":
      return { status: outcome === null ? "active" : "errored", fault: outcome };
    case "inactive":
    case "removed":
      throw new Error(`A slot of a schedule that is ${status} fired.`);
  }
}

/** A deployment was promoted. @param fault why the schedule's task could not be started in it. */
export function decideDeployed(status: ScheduleState, fault: ScheduleFault | null): ScheduleStanding | null {
  switch (status) {
    case "active":
    case "errored":
      return { status: fault === null ? "active" : "errored", fault };
    case "inactive":
      return { status, fault };
    case "removed":
      return null;
  }
}

/** The deployment that was promoted does not declare it. */
export const decideUndeclared = (status: ScheduleState): "remove" | "none" =>
  status === "removed" ? "none" : "remove";

/** Whether a caller's word changes anything: of a removed one there is nobody to say it. */
export function decideActivation(status: ScheduleState, isActive: boolean): "change" | "none" {
  return hasSlots(status) === isActive ? "none" : "change";
}

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
      ? `Nothing is deployed in this environment yet, so there is no task "${task}". Deploy it; the schedule continues automatically.`
      : `There is no task "${task}" in deployment ${version}. Deploy the task, or change the schedule; it continues automatically.`,
  at,
});

export type Occurrence = {
  scheduledAt: number;
  status: OccurrenceStatus;
  runId: Uuid<"run"> | null;
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
  id: Uuid<"sched">;
  deduplicationKey: string;
  timezone: string;
  lastFiredSlotAt: number | null;
};

/** What a scheduled run is given. @param shownId the schedule's TypeID */
export const scheduledPayload = (
  shownId: string,
  { deduplicationKey, timezone, lastFiredSlotAt }: SlotOwner,
  slot: number,
): ScheduledPayload => ({
  schedule_id: shownId,
  deduplication_key: deduplicationKey,
  scheduled_at: new Date(slot).toISOString(),
  last_scheduled_at: lastFiredSlotAt === null ? null : new Date(lastFiredSlotAt).toISOString(),
  timezone,
});
