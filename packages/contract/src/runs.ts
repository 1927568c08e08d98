/** States, failure kinds and event kinds of runs: the words of the wire, shared by server, worker, SDK and CLI. */

export const RUN_STATUSES = [
  "queued",
  "running",
  "waiting",
  "retry_delayed",
  "cancel_requested",
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "system_failed",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const TERMINAL_RUN_STATUSES = [
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "system_failed",
] as const;
export type TerminalRunStatus = (typeof TERMINAL_RUN_STATUSES)[number];
export type LiveRunStatus = Exclude<RunStatus, TerminalRunStatus>;

export const isTerminalRunStatus = (status: RunStatus): status is TerminalRunStatus =>
  (TERMINAL_RUN_STATUSES as readonly string[]).includes(status);

/** Columns that a list of runs may have besides status and task, in their order. */
export const RUN_LIST_COLUMNS = ["tags", "error", "attempt", "run", "created", "took"] as const;

/** How long before a list was opened its runs may have been created. */
export const RUN_LIST_RANGES = ["1h", "24h", "7d", "30d"] as const;

export const BULK_ACTIONS = ["cancel", "replay"] as const;
export type BulkActionKind = (typeof BULK_ACTIONS)[number];

export const BULK_ACTION_STATUSES = ["running", "completed", "cancelled"] as const;
export type BulkActionStatus = (typeof BULK_ACTION_STATUSES)[number];

/** What a bulk action did with one run. */
export const BULK_OUTCOMES = ["cancelled", "already_ended", "replayed", "not_ended", "failed"] as const;
export type BulkOutcome = (typeof BULK_OUTCOMES)[number];

export const FAILURE_KINDS = [
  "application_error",
  "timed_out",
  "out_of_memory",
  "lease_lost",
  "nondeterministic_replay",
  "bundle_error",
  "payload_invalid",
  "secret_unavailable",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export const RUN_EVENT_KINDS = [
  "run.created",
  "run.queued",
  "run.leased",
  "run.started",
  "run.waiting",
  "run.resumed",
  "run.suspended",
  "run.continued",
  "run.retry_delayed",
  "run.cancel_requested",
  "run.succeeded",
  "run.failed",
  "run.cancelled",
  "run.expired",
  "run.system_failed",
  "step.completed",
  "step.failed",
  "wait.created",
  "wait.resolved",
  "wait.timed_out",
  "wait.cancelled",
  "output.appended",
  "state.updated",
  "metadata.updated",
  "checkpoint.ready",
  "checkpoint.failed",
  "lease.lost",
] as const;
export type RunEventKind = (typeof RUN_EVENT_KINDS)[number];

/** What a worker may append on its own; every other kind is the engine's own record of a transition. */
export const WORKER_EVENT_KINDS = ["step.completed", "step.failed"] as const;
export type WorkerEventKind = (typeof WORKER_EVENT_KINDS)[number];

export const EVENT_SEVERITIES = ["debug", "info", "warn", "error"] as const;
export type EventSeverity = (typeof EVENT_SEVERITIES)[number];

/** Why a live run is not running. */
export const STATUS_REASON_KINDS = [
  "delayed",
  "queue_limit",
  "concurrency_key",
  "no_worker",
  "worker_busy",
  "retry_delay",
  "waiting",
  "lease_recovery",
] as const;
export type StatusReasonKind = (typeof STATUS_REASON_KINDS)[number];

export const LOG_STREAMS = ["stdout", "stderr"] as const;
export type LogStream = (typeof LOG_STREAMS)[number];

/** `exclusive`: one run at a time in a process; `shared`: many runs at once in one process. */
export const EXECUTION_MODES = ["exclusive", "shared"] as const;
export type ExecutionMode = (typeof EXECUTION_MODES)[number];
