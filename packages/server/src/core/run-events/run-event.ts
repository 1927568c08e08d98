import type { EventSeverity, RunEventKind } from "@keelson/contract";
import type { DecidedEvent } from "../runs/run.ts";

/**
 * Events of a run, numbered 1, 2, … by the run's own counter. They are stored in batches: all events that one
 * transaction writes for a run are one row. Keys are short because every run stores several.
 */
export type StoredEvent = {
  /** kind */
  k: RunEventKind;
  /** milliseconds since the epoch */
  t: number;
  /** attempt number, absent before the first lease */
  a?: number;
  /** severity, absent for info */
  s?: EventSeverity;
  /** message, absent when it is the kind's own */
  m?: string;
  /** attributes */
  x?: Record<string, unknown>;
};

/** What a kind says when the event has no words of its own. */
export const EVENT_MESSAGES: Record<RunEventKind, string> = {
  "run.created": "The run was created.",
  "run.queued": "The run is waiting for a worker.",
  "run.leased": "A worker took the run.",
  "run.started": "The attempt started.",
  "run.waiting": "The run is waiting.",
  "run.resumed": "The run goes on.",
  "run.suspended": "The run was suspended.",
  "run.retry_delayed": "The attempt failed and will be tried again.",
  "run.cancel_requested": "Cancellation was requested.",
  "run.succeeded": "The run succeeded.",
  "run.failed": "The run failed.",
  "run.cancelled": "The run was cancelled.",
  "run.expired": "No worker took the run within its time to live.",
  "run.system_failed": "The run could not be finished.",
  "step.completed": "A step completed.",
  "step.failed": "A step failed.",
  "wait.created": "A wait was created.",
  "wait.resolved": "The wait was resolved.",
  "wait.timed_out": "The wait timed out.",
  "wait.cancelled": "The wait was cancelled.",
  "output.appended": "Output was appended.",
  "metadata.updated": "Metadata was updated.",
  "checkpoint.ready": "A checkpoint is ready.",
  "checkpoint.failed": "A checkpoint failed.",
  "lease.lost": "The worker's lease was lost.",
};

export function toStoredEvent(event: DecidedEvent, at: number, attemptNumber: number): StoredEvent {
  const stored: StoredEvent = { k: event.kind, t: at };
  if (attemptNumber > 0) stored.a = attemptNumber;
  if (event.severity !== undefined && event.severity !== "info") stored.s = event.severity;
  if (event.message !== undefined) stored.m = event.message;
  if (event.attributes !== undefined) stored.x = { ...event.attributes };
  return stored;
}
