/** States, reasons and errors of schedules: the words of the wire, shared by server, SDK and CLI. */

export const SCHEDULE_TYPES = ["imperative", "declarative"] as const;
export type ScheduleType = (typeof SCHEDULE_TYPES)[number];

/** `errored`: active, but it cannot start runs at present; `last_error` says why. It recovers on its own. */
export const SCHEDULE_STATUSES = ["active", "inactive", "errored"] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/** Why a schedule cannot start runs: of the start's own refusals. */
export const SCHEDULE_ERROR_KINDS = ["task_not_found", "payload_invalid", "start_refused"] as const;
export type ScheduleErrorKind = (typeof SCHEDULE_ERROR_KINDS)[number];

export const OCCURRENCE_STATUSES = ["fired", "skipped"] as const;
export type OccurrenceStatus = (typeof OCCURRENCE_STATUSES)[number];

/**
 * Why a due time started no run. `missed`: no server was running, and a newer due time took its place. `changed`,
 * `deactivated`, `removed`: that was done to the schedule before a server had come to the due time.
 */
export const SKIP_REASONS = ["missed", "changed", "deactivated", "removed", ...SCHEDULE_ERROR_KINDS] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
