import type { EventSeverity, RunEventKind, TerminalRunStatus } from "@keelson/contract";
import { PLAIN_ENDINGS, type DecidedEvent } from "../runs/run.ts";

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
  "run.continued": "The run continues with an empty journal.",
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
  "state.updated": "The session's state was set.",
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

/** What the rows of a run themselves say of its course. Times are milliseconds since the epoch. */
export type RunCourse = {
  createdAt: number;
  /** When it was leased first. Null before, and for runs whose lease is in an event row. */
  leasedAt: number | null;
  /** When its first attempt began. */
  startedAt: number | null;
  /** The number of its last event. */
  eventSequence: number;
  ending: { status: TerminalRunStatus; at: number; attemptNumber: number | null } | null;
};

/**
 * The event with this number, if nobody stored one: most runs are created, queued, leased, started and ended, and their
 * rows say when. Only events that say more are stored, and a stored one always goes before the one that is implied.
 */
export function impliedEvent(course: RunCourse, sequence: number): StoredEvent | null {
  const { ending } = course;
  if (ending !== null && sequence === course.eventSequence) return endingEvent(ending);
  switch (sequence) {
    case 1:
      return { k: "run.created", t: course.createdAt };
    case 2:
      return { k: "run.queued", t: course.createdAt };
    case 3: {
      const leasedAt = course.leasedAt ?? leasedBefore(course);
      return leasedAt === null ? null : { k: "run.leased", t: leasedAt, a: 1 };
    }
    case 4:
      return course.startedAt === null ? null : { k: "run.started", t: course.startedAt, a: 1 };
    default:
      return null;
  }
}

/** A server of the version before, which ends a run, keeps no time of its lease. */
const leasedBefore = ({ startedAt, ending }: RunCourse): number | null =>
  startedAt ?? (ending === null || ending.attemptNumber === null ? null : ending.at);

function endingEvent({ status, at, attemptNumber }: NonNullable<RunCourse["ending"]>): StoredEvent | null {
  const event = status in PLAIN_ENDINGS ? PLAIN_ENDINGS[status as keyof typeof PLAIN_ENDINGS] : null;
  return event === null ? null : toStoredEvent(event, at, attemptNumber ?? 0);
}

export type EventRow = { sequence: number; events: StoredEvent[] };

/** What of the events that end with the run's last one needs a row; null: nothing. */
export function eventsToStore(course: RunCourse, events: readonly StoredEvent[]): EventRow | null {
  const first = course.eventSequence - events.length + 1;
  const isImplied = (index: number): boolean => {
    const implied = impliedEvent(course, first + index);
    return implied !== null && isSame(implied, events[index] as StoredEvent);
  };
  let from = 0;
  let to = events.length;
  while (from < to && isImplied(from)) from += 1;
  while (to > from && isImplied(to - 1)) to -= 1;
  return from === to ? null : { sequence: first + from, events: events.slice(from, to) };
}

/** An implied event has neither words nor attributes of its own. */
const isSame = (implied: StoredEvent, event: StoredEvent): boolean =>
  event.m === undefined &&
  event.x === undefined &&
  (["k", "t", "a", "s"] as const).every((key) => implied[key] === event[key]);

export type NumberedEvent = { sequence: number; event: StoredEvent };

/**
 * The events after the cursor in order, `limit` at most: those of the rows, which are the first ones after it, and between
 * them the implied ones.
 *
 * @param limit at most as many as there are rows, when there are more rows than these
 */
export function completeEvents(
  course: RunCourse,
  rows: readonly EventRow[],
  after: number,
  limit: number,
): NumberedEvent[] {
  const stored = new Map(
    rows.flatMap((row) => row.events.map((event, index) => [row.sequence + index, event] as const)),
  );
  const found: NumberedEvent[] = [];
  for (let sequence = after + 1; sequence <= course.eventSequence && found.length < limit; sequence += 1) {
    const event = stored.get(sequence) ?? impliedEvent(course, sequence);
    if (event !== null) found.push({ sequence, event });
  }
  return found;
}
