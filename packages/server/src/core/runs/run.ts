import type {
  FailureKind,
  LiveRunStatus,
  RunEventAttributes,
  RunEventKind,
  RunFailure,
  RunStatus,
  TerminalRunStatus,
  Uuid,
} from "@keelson/contract";
import { decideLostAttempt, decideSetback } from "../losses/losses.ts";

/**
 * The life of a run.
 *
 * A run is queued until a worker leases it, running until its lease is released or lost, and ends exactly once.
 * A failed or lost attempt is tried again while attempts are left. Infrastructure that fails before the code begins costs
 * no attempt, and one that fails later does not end the run before extra attempts are spent too. Cancelling a run that a
 * worker holds only asks: the run is `cancel_requested` until the worker confirms, or loses the lease.
 *
 * A run whose code only waits is waiting. At first its worker keeps it in memory ("parked"); later, or when the worker
 * goes, it is suspended: nobody holds it, and its journal says how to go on. Waiting costs no attempt.
 *
 * Code can continue its run with an empty journal. It is the same run, queued again, and its attempts are counted anew.
 *
 * Every change is decided here, by one pure function a command; what a decision writes is in executions.
 */
export const RUN_EDGES = [
  { from: "queued", on: "lease", to: "running" },
  { from: "queued", on: "ttl over", to: "expired" },
  { from: "queued", on: "cancel", to: "cancelled" },
  { from: "running", on: "succeeded", to: "succeeded" },
  { from: "running", on: "failed, attempts left", to: "retry_delayed" },
  { from: "running", on: "failed, none left", to: "failed" },
  { from: "running", on: "rejected by the worker, or its code could not be begun", to: "queued" },
  { from: "running", on: "lease lost, attempts left", to: "queued" },
  { from: "running", on: "killed from outside, attempts left", to: "retry_delayed" },
  { from: "running", on: "lease lost or killed from outside, no extra attempt left", to: "system_failed" },
  { from: "running", on: "continued with an empty journal", to: "queued" },
  { from: "running", on: "cancel", to: "cancel_requested" },
  { from: "running", on: "waits", to: "waiting" },
  { from: "running", on: "suspended just as its wait settled", to: "queued" },
  { from: "running", on: "lease lost before its worker heard that its wait settled", to: "queued" },
  { from: "waiting", on: "wait settled, in memory", to: "running" },
  { from: "waiting", on: "wait settled, suspended", to: "queued" },
  { from: "waiting", on: "cancel", to: "cancelled" },
  { from: "retry_delayed", on: "due", to: "queued" },
  { from: "retry_delayed", on: "cancel", to: "cancelled" },
  { from: "cancel_requested", on: "released or lease lost", to: "cancelled" },
] as const satisfies readonly { from: RunStatus; on: string; to: RunStatus }[];

/** What else a run belongs to; most runs belong to nothing. */
export type RunLinks = {
  sessionId: Uuid<"sess"> | null;
  /** 1 for the first run of its session. */
  turn: number | null;
  workspaceId: Uuid<"ws"> | null;
  scheduleId: Uuid<"sched"> | null;
  parentRunId: Uuid<"run"> | null;
};

/** What the decisions look at. */
export type LiveRun = {
  status: LiveRunStatus;
  /** Of the attempts since its last continuation. */
  attemptNumber: number;
  /** How often it has continued with an empty journal. */
  continuations: number;
  /** The present attempt has begun to run user code: from here on losing it costs an attempt. */
  attemptStarted: boolean;
  /** A worker has the lease. */
  held: boolean;
  /** The present attempt has run before it was suspended. */
  resumed: boolean;
  /** How often in a row infrastructure kept its code from beginning. */
  setbacks: number;
};

/** An event as it is decided: what its attributes hold goes with its kind. */
export type DecidedEvent = {
  [Kind in RunEventKind]: {
    kind: Kind;
    message?: string;
    severity?: "info" | "warn" | "error";
    attributes?: RunEventAttributes[Kind];
  };
}[RunEventKind];

export type Ending = { status: TerminalRunStatus; failure: RunFailure | null; output: string | null };

/** `none`: the command finds its effect already there. */
export type Decision =
  | { kind: "none" }
  | { kind: "refuse"; message: string }
  | {
      kind: "move";
      to: LiveRunStatus;
      retryDelayMs?: number;
      /** The worker gives it up in the middle of its attempt, which goes on later. */
      suspended?: true;
      /** Infrastructure kept the code from beginning. */
      setback?: true;
      /** It goes on with an empty journal. */
      continued?: true;
      events: DecidedEvent[];
    }
  | { kind: "end"; ending: Ending; events: DecidedEvent[] };

const end = (
  status: TerminalRunStatus,
  events: DecidedEvent[],
  failure: RunFailure | null = null,
  output: string | null = null,
): Decision => ({
  kind: "end",
  ending: { status, failure, output },
  events,
});

const SUSPENDED: DecidedEvent = { kind: "run.suspended" };
const CANCELLED: DecidedEvent = { kind: "run.cancelled", severity: "warn" };

/** The last events of runs whose end says all that there is to say. */
export const PLAIN_ENDINGS = {
  succeeded: { kind: "run.succeeded" },
  cancelled: CANCELLED,
  expired: { kind: "run.expired", severity: "warn" },
} as const satisfies Partial<Record<TerminalRunStatus, DecidedEvent>>;

/** A caller asks for the end of a run. */
export function decideCancel(status: RunStatus): Decision {
  switch (status) {
    case "queued":
      return end("cancelled", [CANCELLED]);
    case "retry_delayed":
    case "waiting":
      // No worker holds it, so the request is carried out at once; both facts are recorded.
      return end("cancelled", [{ kind: "run.cancel_requested" }, CANCELLED]);
    case "running":
      return { kind: "move", to: "cancel_requested", events: [{ kind: "run.cancel_requested" }] };
    case "cancel_requested":
    case "cancelled":
      return { kind: "none" };
    case "succeeded":
    case "failed":
    case "expired":
    case "system_failed":
      return {
        kind: "refuse",
        message: `The run has already ended as ${status}; an ended run cannot be cancelled.`,
      };
  }
}

/** The worker began to run user code under the lease. A cancelled run may still begin: its worker learns of it meanwhile. */
export function decideStart(run: LiveRun): Decision {
  switch (run.status) {
    case "running":
    case "cancel_requested":
      return run.attemptStarted
        ? { kind: "none" }
        : {
            kind: "move",
            to: run.status,
            events: [{ kind: run.resumed ? "run.resumed" : "run.started" }],
          };
    case "queued":
    case "waiting":
    case "retry_delayed":
      return { kind: "refuse", message: `The run is ${run.status}; only a leased run can be started.` };
  }
}

export type AttemptFailure = RunFailure & { retryAfterMs?: number };

/** How the worker says that the lease ended. */
export type Release =
  | { outcome: "succeeded"; output: string | null }
  | { outcome: "failed"; failure: AttemptFailure }
  | { outcome: "cancelled" }
  /** `reason`: infrastructure failed; without one the worker just does not want it now. */
  | { outcome: "rejected"; reason?: string }
  | { outcome: "suspended" }
  | { outcome: "continued" };

/**
 * How long a run that continues is not ready. Others of its queue and of its environment get its slot, although they were
 * started later, and code that does nothing else uses up no worker.
 */
export const CONTINUE_DELAY_MS = 1_000;

/** Failures after which another attempt would meet the same wall. */
const NEVER_RETRIED: readonly FailureKind[] = [
  "payload_invalid",
  "bundle_error",
  "nondeterministic_replay",
  "secret_unavailable",
];

/** The worker gives the lease back. `delayMs` is the policy's delay before the next attempt. */
export function decideRelease(
  run: LiveRun,
  release: Release,
  maxAttempts: number,
  delayMs: number,
): Decision {
  switch (run.status) {
    case "cancel_requested":
      return end("cancelled", [CANCELLED]);
    case "running":
      return decideReleaseOfRunning(run, release, maxAttempts, delayMs);
    case "waiting":
      return run.held && release.outcome === "suspended"
        ? { kind: "move", to: "waiting", suspended: true, events: [SUSPENDED] }
        : { kind: "refuse", message: "The run is waiting; it can only be suspended." };
    case "queued":
    case "retry_delayed":
      return { kind: "refuse", message: `The run is ${run.status}; only a leased run can be released.` };
  }
}

function decideReleaseOfRunning(
  run: LiveRun,
  release: Release,
  maxAttempts: number,
  delayMs: number,
): Decision {
  switch (release.outcome) {
    case "succeeded":
      return end("succeeded", [PLAIN_ENDINGS.succeeded], null, release.output);
    case "failed":
      return release.failure.kind === "lease_lost"
        ? decideTakenBack(run, release.failure.message, maxAttempts, delayMs)
        : decideFailure(run, release.failure, maxAttempts, delayMs);
    case "cancelled":
      // The worker stopped it by itself, without a request: an attempt that did not finish.
      return decideLeaseLost(run, maxAttempts, "The worker ended the attempt before it finished.");
    case "rejected":
      if (release.reason !== undefined) return decideTakenBack(run, release.reason, maxAttempts, delayMs);
      return run.attemptStarted
        ? decideLostAttempt(run, maxAttempts, "The worker handed the run back before it finished.", null)
        : {
            kind: "move",
            to: "queued",
            events: [{ kind: "run.queued", message: "Handed back by the worker before it started." }],
          };
    case "suspended":
      // What it waited for came while its worker was suspending it.
      return { kind: "move", to: "queued", suspended: true, events: [SUSPENDED, { kind: "run.queued" }] };
    case "continued":
      return {
        kind: "move",
        to: "queued",
        continued: true,
        retryDelayMs: CONTINUE_DELAY_MS,
        events: [{ kind: "run.continued", attributes: { continuation: run.continuations + 1 } }],
      };
  }
}

/** The worker says that infrastructure ended the attempt, or kept it from beginning. */
const decideTakenBack = (run: LiveRun, message: string, maxAttempts: number, delayMs: number): Decision =>
  run.attemptStarted ? decideLostAttempt(run, maxAttempts, message, delayMs) : decideSetback(run, message);

/** A run keeps the stack of its last failure alone; of the others the event has as much as shows where they came from. */
const RETRIED_STACK_CHARACTERS = 2_048;

const stackOf = ({ stack }: AttemptFailure): { stack?: string } =>
  stack === null ? {} : { stack: stack.slice(0, RETRIED_STACK_CHARACTERS).toWellFormed() };

function decideFailure(
  run: LiveRun,
  failure: AttemptFailure,
  maxAttempts: number,
  delayMs: number,
): Decision {
  const { retryAfterMs, ...shown } = failure;
  const attributes = { kind: failure.kind, message: failure.message };
  const retry = failure.retryable && !NEVER_RETRIED.includes(failure.kind) && run.attemptNumber < maxAttempts;
  if (!retry)
    return end(
      "failed",
      [{ kind: "run.failed", severity: "error", message: failure.message, attributes }],
      shown,
    );
  const wait = retryAfterMs ?? delayMs;
  return {
    kind: "move",
    to: "retry_delayed",
    retryDelayMs: wait,
    events: [
      {
        kind: "run.retry_delayed",
        severity: "warn",
        message: failure.message,
        attributes: { ...attributes, delay_ms: wait, ...stackOf(failure) },
      },
    ],
  };
}

/** The lease ran out, or was given back after the attempt had begun. */
export function decideLeaseLost(run: LiveRun, maxAttempts: number, message: string): Decision {
  switch (run.status) {
    case "running":
      return run.attemptStarted
        ? decideLostAttempt(run, maxAttempts, message, null)
        : decideSetback(run, message);
    case "cancel_requested":
      return end("cancelled", [{ kind: "lease.lost", severity: "warn", message }, CANCELLED]);
    case "waiting":
      // Its journal has everything: it goes on elsewhere without having lost anything.
      return run.held
        ? {
            kind: "move",
            to: "waiting",
            suspended: true,
            events: [{ kind: "lease.lost", severity: "warn", message }, SUSPENDED],
          }
        : { kind: "none" };
    case "queued":
    case "retry_delayed":
      return { kind: "none" };
  }
}

/**
 * The lease ran out of a run that goes on only as far as we know: its wait settled, and its worker was silent and never
 * heard of it. Its code did nothing but wait, so it goes on elsewhere without having lost anything.
 */
export const decideUnheardLost = (message: string): Decision => ({
  kind: "move",
  to: "queued",
  suspended: true,
  events: [{ kind: "lease.lost", severity: "warn", message }, SUSPENDED, { kind: "run.queued" }],
});

/** The code does nothing but wait. One whose end was asked for is not parked: its worker is to stop it. */
export function decidePark(status: LiveRunStatus): Decision {
  switch (status) {
    case "running":
      return { kind: "move", to: "waiting", events: [{ kind: "run.waiting" }] };
    case "waiting":
    case "cancel_requested":
      return { kind: "none" };
    case "queued":
    case "retry_delayed":
      return { kind: "refuse", message: `The run is ${status}; only a leased run can wait.` };
  }
}

/** The code of a parked run does something again, without that one of its waits has settled. */
export function decideUnpark(status: LiveRunStatus): Decision {
  return status === "waiting"
    ? { kind: "move", to: "running", events: [{ kind: "run.resumed" }] }
    : { kind: "none" };
}

/** Something that the run waits for has settled. */
export function decideWaitSettled(run: LiveRun): Decision {
  switch (run.status) {
    case "waiting":
      return run.held
        ? { kind: "move", to: "running", events: [{ kind: "run.resumed" }] }
        : { kind: "move", to: "queued", events: [{ kind: "run.queued" }] };
    case "running":
    case "cancel_requested":
    case "queued":
    case "retry_delayed":
      return { kind: "none" };
  }
}

/** The time of a delayed start or of the next attempt has come. */
export function decideDue(status: LiveRunStatus): Decision {
  switch (status) {
    case "queued":
    case "retry_delayed":
      return { kind: "move", to: "queued", events: [{ kind: "run.queued" }] };
    case "running":
    case "waiting":
    case "cancel_requested":
      return { kind: "none" };
  }
}

/** The time to live is over: a run that no worker has ever taken expires. */
export function decideExpiry(run: LiveRun): Decision {
  if (run.status !== "queued" || run.attemptNumber > 0) return { kind: "none" };
  return end("expired", [PLAIN_ENDINGS.expired]);
}
