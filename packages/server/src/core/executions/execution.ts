import type { FailureKind, Isolation, JournalKind, LiveRunStatus, LogStream, Uuid } from "@keelson/contract";
import type { NewErrorGroup } from "../error-groups/error-group.ts";
import type { LeaseLoss } from "../losses/losses.ts";
import type { DecidedEvent, Decision, Ending, LiveRun, RunLinks } from "../runs/run.ts";
import { toStoredEvent, type StoredEvent } from "../run-events/run-event.ts";

/** A run within its environment. */
export type ExecutionKey = { environmentId: Uuid<"env">; runId: Uuid<"run"> };

/**
 * The live row of a run, locked and held in memory while a transaction's operations are decided. Operations change
 * this copy; one statement a table then writes all copies back. Times are milliseconds since the epoch.
 */
export type Execution = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  workerGroupId: Uuid<"wgrp">;
  status: LiveRunStatus;
  ready: boolean;
  priority: number;
  workspaceId: Uuid<"ws"> | null;
  requiredIsolation: Isolation | null;
  queue: string;
  concurrencyKey: string | null;
  limited: boolean;
  admitted: boolean;
  availableAt: number | null;
  expiresAt: number | null;
  attemptNumber: number;
  /** How often it has continued with an empty journal. */
  continuations: number;
  /** Its attempts before the last continuation. */
  attemptsBefore: number;
  /** When it was leased first, if its row says so. */
  firstLeasedAt: number | null;
  attemptStartedAt: number | null;
  startedAt: number | null;
  deadlineAt: number | null;
  maxDurationMs: number | null;
  epoch: number;
  leaseId: Uuid<"lease"> | null;
  workerId: Uuid<"wkr"> | null;
  leaseExpiresAt: number | null;
  appliedSequence: number;
  recovering: boolean;
  cancelRequestedAt: number | null;
  eventSequence: number;
  logSequence: number;
  stdoutBytes: number;
  stderrBytes: number;
  metadata: string | null;
} & DurableState;

/** Which transaction wrote a live row last (its `xmin`): the row is as it was while this is. */
export type RowVersion = string;

/** What only runs with durable calls, or with setbacks, use; written back when one of a transaction's changes says so. */
export type DurableState = {
  /** The session of the run, or a run that waits for it, is to be told of its end. */
  endAwaited: boolean;
  journalSequence: number;
  journalBytes: number;
  waitCount: number;
  /** How long the attempt ran until it last began to wait. */
  activeMs: number;
  /** When it went on in memory after its last wait. */
  resumedAt: number | null;
  /** How often in a row infrastructure kept its code from beginning. */
  setbacks: number;
};

/** A leased run with what its process needs. JSON is text. */
export type LeasedExecution = {
  leaseId: Uuid<"lease">;
  epoch: number;
  leaseExpiresAt: number;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  runId: Uuid<"run">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  attemptNumber: number;
  continuations: number;
  attemptsBefore: number;
  retry: string;
  maxDurationMs: number | null;
  /** What it was started with. */
  payload: string | null;
  metadata: string | null;
  tags: string[] | null;
  queue: string;
  createdAt: number;
  /** When it was to start; null: at once. */
  startAt: number | null;
  deploymentId: Uuid<"dep">;
  deploymentVersion: string;
  /** Entries of its journal: with none there is nothing to replay. */
  journalSequence: number;
  /** Waits that it ever created. */
  waitCount: number;
  /** It holds a slot of its queue. */
  limited: boolean;
  /** How long the attempt has run before it was suspended. */
  activeMs: number;
} & RunLinks;

/** A new entry of a run's journal. JSON is text; of a wait, the value stands in the wait itself. */
export type NewJournalEntry = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  sequence: number;
  position: number;
  /** Where the run's SDK made the call; null when it keeps no places. */
  place: number | null;
  kind: JournalKind;
  name: string;
  value: string | null;
  error: string | null;
  attemptNumber: number;
  at: number;
};

/** One execution's changes within a transaction. */
export type Change = {
  execution: Execution;
  /** What the row held when it was locked: the counts move by the difference. */
  statusBefore: LiveRunStatus;
  events: StoredEvent[];
  ending: (Ending & { at: number }) | null;
  /** Of a run that failed for good: what failed in the same way. */
  errorGroup: NewErrorGroup | null;
  /** Something of it is to be written back. */
  dirty: boolean;
  /** Something of its durable state is. */
  durable: boolean;
  /** What the metrics are told, see `noted-fact.ts`. */
  startedBefore: boolean;
  retriedAfter: FailureKind | null;
  leaseLost: { cause: LeaseLoss; begun: boolean } | null;
};

export const changeOf = (execution: Execution): Change => ({
  execution,
  statusBefore: execution.status,
  events: [],
  ending: null,
  errorGroup: null,
  dirty: false,
  durable: false,
  startedBefore: execution.startedAt !== null,
  retriedAfter: null,
  leaseLost: null,
});

/** What the decisions look at. */
export const liveRun = ({ execution }: Pick<Change, "execution">): LiveRun => ({
  status: execution.status,
  attemptNumber: execution.attemptNumber - execution.attemptsBefore,
  continuations: execution.continuations,
  attemptStarted: execution.attemptStartedAt !== null,
  held: execution.workerId !== null,
  resumed: execution.activeMs > 0,
  setbacks: execution.setbacks,
});

/**
 * Carries a decision out on the copy. The refusals are the caller's to answer.
 *
 * @param lossCause why the lease is lost, if the decision says that it is
 */
export function applyDecision(
  change: Change,
  decision: Exclude<Decision, { kind: "refuse" }>,
  now: number,
  lossCause: LeaseLoss = "worker",
): void {
  const { execution } = change;
  if (decision.kind === "none") return;
  change.dirty = true;
  for (const event of decision.events) change.events.push(toStoredEvent(event, now, execution.attemptNumber));
  noteLoss(change, decision.events, lossCause);
  if (decision.kind === "end") {
    change.ending = { ...decision.ending, at: now };
    return;
  }
  if (decision.suspended === true) suspend(change, now);
  switch (decision.to) {
    case "queued":
      leaveWorker(execution);
      if (decision.setback === true) noteSetback(change);
      if (decision.continued === true) beginAnew(change, now);
      execution.availableAt = decision.retryDelayMs === undefined ? null : now + decision.retryDelayMs;
      // Whoever waits for a time holds no slot of a queue meanwhile.
      if (execution.availableAt !== null) execution.admitted = false;
      execution.ready = execution.availableAt === null && (!execution.limited || execution.admitted);
      break;
    case "retry_delayed":
      leaveWorker(execution);
      // A failed attempt is used up even when its code never began, or a process that cannot boot would be tried for ever.
      execution.attemptStartedAt ??= now;
      execution.availableAt = now + (decision.retryDelayMs ?? 0);
      execution.admitted = false;
      break;
    case "cancel_requested":
      execution.cancelRequestedAt ??= now;
      break;
    case "running":
      if (execution.status === "waiting") resume(change, now);
      break;
    case "waiting":
      if (execution.status === "running") stopClock(change, now);
      break;
  }
  execution.status = decision.to;
}

/** An attempt that infrastructure ended is a lost lease, whether the next one comes at once or later. */
function noteLoss(change: Change, events: readonly DecidedEvent[], cause: LeaseLoss): void {
  for (const event of events) {
    if (event.kind === "lease.lost")
      change.leaseLost = { cause, begun: change.execution.attemptStartedAt !== null };
    else if (event.kind === "run.retry_delayed" && change.leaseLost === null)
      change.retriedAfter = event.attributes?.kind ?? null;
  }
}

function noteSetback(change: Change): void {
  change.execution.setbacks += 1;
  change.execution.recovering = true;
  change.durable = true;
}

/** The next attempt is the first one of a new journal, with all of its time. */
function beginAnew(change: Change, now: number): void {
  const { execution } = change;
  execution.continuations += 1;
  execution.attemptsBefore = execution.attemptNumber;
  // The attempt is used up, also when its worker has not said that it began.
  execution.attemptStartedAt ??= now;
  execution.expiresAt = null;
  execution.journalSequence = 0;
  execution.journalBytes = 0;
  execution.waitCount = 0;
  execution.activeMs = 0;
  execution.resumedAt = null;
  execution.setbacks = 0;
  change.durable = true;
}

/** The attempt goes on later, with its number and the rest of its time. */
function suspend(change: Change, now: number): void {
  const { execution } = change;
  if (execution.status === "running") stopClock(change, now);
  leaveWorker(execution);
  execution.attemptStartedAt = null;
  execution.resumedAt = null;
  execution.admitted = false;
  change.durable = true;
}

/** Waiting does not count as running. */
function stopClock(change: Change, now: number): void {
  const { execution } = change;
  const since = execution.resumedAt ?? execution.attemptStartedAt;
  // At least a millisecond, which tells an attempt that has run from one that has not.
  if (since !== null) execution.activeMs += Math.max(1, now - since);
  execution.deadlineAt = null;
  change.durable = true;
}

function resume(change: Change, now: number): void {
  const { execution } = change;
  execution.resumedAt = now;
  execution.deadlineAt = deadlineOf(execution, now);
  change.durable = true;
}

/** When an attempt that runs from now on is over its time. */
export const deadlineOf = ({ maxDurationMs, activeMs }: Execution, now: number): number | null =>
  maxDurationMs === null ? null : now + Math.max(0, maxDurationMs - activeMs);

/** The lease id, epoch and applied sequence stay, so that a repeated report is recognised. */
function leaveWorker(execution: Execution): void {
  execution.workerId = null;
  execution.leaseExpiresAt = null;
  execution.deadlineAt = null;
}

export type NewLogChunk = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  sequence: number;
  attemptNumber: number;
  stream: LogStream;
  data: Buffer;
  at: number;
};

/** A run that continues with an empty journal. */
export type Continuation = {
  /** As it is from now on. */
  execution: Execution;
  workspaceId: Uuid<"ws"> | null;
  /** JSON; null for none. */
  payload: string | null;
};

/** Rows that operations add besides what they change. */
export type Added = { logs?: readonly NewLogChunk[]; journal?: readonly NewJournalEntry[] };
