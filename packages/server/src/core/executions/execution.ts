import type { LiveRunStatus } from "@keelson/contract";
import type { Decision, Ending } from "../runs/run.ts";
import { toStoredEvent, type StoredEvent } from "../run-events/run-event.ts";

/**
 * The live row of a run, locked and held in memory while a transaction's operations are decided. Operations change
 * this copy; one statement a table then writes all copies back. Times are milliseconds since the epoch.
 */
export type Execution = {
  environmentId: string;
  runId: string;
  workerGroupId: string;
  status: LiveRunStatus;
  ready: boolean;
  queue: string;
  concurrencyKey: string | null;
  limited: boolean;
  admitted: boolean;
  availableAt: number | null;
  expiresAt: number | null;
  attemptNumber: number;
  attemptStartedAt: number | null;
  startedAt: number | null;
  deadlineAt: number | null;
  maxDurationMs: number | null;
  epoch: number;
  leaseId: string | null;
  workerId: string | null;
  leaseExpiresAt: number | null;
  appliedSequence: number;
  recovering: boolean;
  cancelRequestedAt: number | null;
  eventSequence: number;
  logSequence: number;
  stdoutBytes: number;
  stderrBytes: number;
  metadata: string | null;
};

/** One execution's changes within a transaction. */
export type Change = {
  execution: Execution;
  /** What the row held when it was locked: the counts move by the difference. */
  statusBefore: LiveRunStatus;
  events: StoredEvent[];
  ending: (Ending & { at: number }) | null;
  /** Something of it is to be written back. */
  dirty: boolean;
};

export const changeOf = (execution: Execution): Change => ({
  execution,
  statusBefore: execution.status,
  events: [],
  ending: null,
  dirty: false,
});

/** Carries a decision out on the copy. The refusals are the caller's to answer. */
export function applyDecision(
  change: Change,
  decision: Exclude<Decision, { kind: "refuse" }>,
  now: number,
): void {
  const { execution } = change;
  if (decision.kind === "none") return;
  change.dirty = true;
  for (const event of decision.events) change.events.push(toStoredEvent(event, now, execution.attemptNumber));
  if (decision.kind === "end") {
    change.ending = { ...decision.ending, at: now };
    return;
  }
  switch (decision.to) {
    case "queued":
      leaveWorker(execution);
      execution.availableAt = null;
      execution.ready = !execution.limited || execution.admitted;
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
    case "waiting":
      break;
  }
  execution.status = decision.to;
}

/** The lease id, epoch and applied sequence stay, so that a repeated report is recognised. */
function leaveWorker(execution: Execution): void {
  execution.workerId = null;
  execution.leaseExpiresAt = null;
  execution.deadlineAt = null;
}
