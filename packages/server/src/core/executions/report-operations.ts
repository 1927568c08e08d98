import type { ErrorCode, Operation } from "@keelson/contract";
import { decodeId, LIMITS, parseDuration } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { MAX_DELAY_MS, retryDelayMs, type ResolvedRetry } from "../runs/retry-policy.ts";
import { decideRelease, decideStart, type Release } from "../runs/run.ts";
import { applyMetadataChanges } from "../runs/metadata.ts";
import { applyDecision, changeOf, type Change } from "./execution.ts";
import {
  findEndedLeases,
  findRunPolicies,
  lockExecutions,
  type EndedLease,
  type ExecutionKey,
  type RunPolicy,
} from "./execution-reads.ts";
import type { NewLogChunk } from "./execution-writes.ts";
import { settleChanges, type Settled } from "./settle-changes.ts";

/** An operation with its ids decoded and its times parsed by the edge. */
export type LeasedOperation = {
  environmentId: string;
  runId: string;
  leaseId: string;
  epoch: number;
  operation: Operation;
};

export type OperationOutcome = { ok: true } | { ok: false; code: ErrorCode; message: string };

export type ReportResult = { outcomes: OperationOutcome[]; settled: Settled };

const OK: OperationOutcome = { ok: true };
const LOST: OperationOutcome = {
  ok: false,
  code: "lease_lost",
  message: "The lease was superseded or has ended; stop this execution and report nothing more for it.",
};
const refuse = (code: ErrorCode, message: string): OperationOutcome => ({ ok: false, code, message });

type Batch = {
  workerId: string;
  now: number;
  /** The newest time of the report by the worker's clock: what the worker's other times are ages against. */
  newestAt: number;
  random: () => number;
  changes: Map<string, Change>;
  ended: Map<string, EndedLease>;
  policies: Map<string, RunPolicy>;
  logs: NewLogChunk[];
};

/**
 * Applies any mix of operations of many leases, in order, in the caller's transaction: one statement locks the live
 * rows, the operations are decided on copies in memory, one statement writes all of them back.
 *
 * A write is valid when the row's lease and epoch are the operation's, whatever the time. An operation whose sequence
 * has been applied is answered as before and has no second effect; one that leaves a gap is refused, because the
 * operations between are still to come.
 */
export async function reportOperations(
  tx: Tx,
  workerId: string,
  operations: readonly LeasedOperation[],
  now: number,
  random: () => number,
): Promise<ReportResult> {
  const keys = distinctKeys(operations);
  const locked = await lockExecutions(tx, keys);
  const batch: Batch = {
    workerId,
    now,
    newestAt: operations.reduce((newest, { operation }) => Math.max(newest, Date.parse(operation.at)), 0),
    random,
    changes: new Map(locked.map((execution) => [execution.runId, changeOf(execution)])),
    ended: new Map(),
    policies: new Map(),
    logs: [],
  };
  const absent = keys.filter((key) => !batch.changes.has(key.runId));
  if (absent.length > 0)
    for (const lease of await findEndedLeases(tx, absent)) batch.ended.set(lease.runId, lease);
  const needy = operations.filter(
    ({ operation }) =>
      operation.kind === "metadata" || (operation.kind === "release" && operation.outcome !== "succeeded"),
  );
  if (needy.length > 0)
    for (const policy of await findRunPolicies(tx, distinctKeys(needy)))
      batch.policies.set(policy.runId, policy);

  const outcomes = operations.map((operation) => applyOperation(batch, operation));
  return { outcomes, settled: await settleChanges(tx, [...batch.changes.values()], batch.logs) };
}

const distinctKeys = (operations: readonly LeasedOperation[]): ExecutionKey[] => [
  ...new Map(
    operations.map(({ environmentId, runId }) => [`${environmentId} ${runId}`, { environmentId, runId }]),
  ).values(),
];

function applyOperation(batch: Batch, leased: LeasedOperation): OperationOutcome {
  const { operation } = leased;
  const change = batch.changes.get(leased.runId);
  if (change === undefined || change.execution.environmentId !== leased.environmentId)
    return afterTheEnd(batch, leased);
  const { execution } = change;
  if (execution.leaseId !== leased.leaseId || execution.epoch !== leased.epoch) return LOST;
  if (operation.sequence <= execution.appliedSequence) return OK;
  if (change.ending !== null || execution.workerId !== batch.workerId) return LOST;
  if (operation.sequence !== execution.appliedSequence + 1) {
    return refuse(
      "invalid_state",
      `The next sequence of this lease is ${execution.appliedSequence + 1}; send operations in order.`,
    );
  }
  const outcome = perform(batch, change, operation);
  if (outcome.ok) {
    execution.appliedSequence = operation.sequence;
    change.dirty = true;
  }
  return outcome;
}

/** The run has ended: a repeat of what its last lease reported is answered as the first time. */
function afterTheEnd(batch: Batch, leased: LeasedOperation): OperationOutcome {
  const ended = batch.ended.get(leased.runId);
  const repeated =
    ended !== undefined &&
    ended.environmentId === leased.environmentId &&
    ended.leaseId === leased.leaseId &&
    ended.epoch === leased.epoch &&
    leased.operation.sequence <= ended.appliedSequence;
  return repeated ? OK : LOST;
}

function perform(batch: Batch, change: Change, operation: Operation): OperationOutcome {
  const { execution } = change;
  switch (operation.kind) {
    case "start":
      return performStart(batch, change, Date.parse(operation.at));
    case "logs":
      return performLogs(batch, change, operation.chunks);
    case "events":
      for (const event of operation.events) {
        change.events.push({
          k: event.kind,
          t: Date.parse(event.at),
          a: execution.attemptNumber,
          ...(event.severity === undefined || event.severity === "info" ? {} : { s: event.severity }),
          m: event.message,
          ...(event.attributes === undefined ? {} : { x: event.attributes }),
        });
      }
      return OK;
    case "metadata":
      return performMetadata(batch, change, operation.changes);
    case "release":
      return performRelease(batch, change, operation);
  }
}

/** A start is reported at once or together with what came soon after it; an older one is a clock that was set. */
const MAX_START_AGE_MS = 60_000;

/**
 * The attempt began as long before now as the worker's clock says it began before the newest time of the report: clocks
 * of two machines are never compared, and a run that was started and ended in one report still took its time.
 */
function performStart(batch: Batch, change: Change, at: number): OperationOutcome {
  const { execution } = change;
  const decision = decideStart(liveRun(change));
  if (decision.kind === "refuse") return refuse("invalid_state", decision.message);
  const startedAt = batch.now - Math.min(batch.newestAt - at, MAX_START_AGE_MS);
  applyDecision(change, decision, startedAt);
  execution.attemptStartedAt ??= startedAt;
  execution.startedAt ??= startedAt;
  execution.deadlineAt = execution.maxDurationMs === null ? null : startedAt + execution.maxDurationMs;
  return OK;
}

function performLogs(
  batch: Batch,
  { execution }: Change,
  chunks: Extract<Operation, { kind: "logs" }>["chunks"],
): OperationOutcome {
  const decoded = chunks.map((chunk) => Buffer.from(chunk.data, "base64"));
  // All are looked at before the first has an effect. Node skips what is no base64, so the length tells.
  for (const [index, data] of decoded.entries()) {
    if (data.length > LIMITS.logChunkBytes) {
      return refuse("payload_too_large", `chunks.${index}: may be ${LIMITS.logChunkBytes} bytes; split it.`);
    }
    if (data.length !== Buffer.byteLength(chunks[index]?.data ?? "", "base64"))
      return refuse("invalid_request", `chunks.${index}.data: send base64.`);
  }
  for (const [index, { stream, at }] of chunks.entries()) {
    const data = decoded[index] as Buffer;
    execution.logSequence += 1;
    if (stream === "stdout") execution.stdoutBytes += data.length;
    else execution.stderrBytes += data.length;
    const { environmentId, runId, attemptNumber, logSequence: sequence } = execution;
    batch.logs.push({ environmentId, runId, sequence, attemptNumber, stream, data, at: Date.parse(at) });
  }
  return OK;
}

function performMetadata(
  batch: Batch,
  change: Change,
  changes: Extract<Operation, { kind: "metadata" }>["changes"],
): OperationOutcome {
  const { execution } = change;
  const before = execution.metadata ?? batch.policies.get(execution.runId)?.metadata ?? "{}";
  const result = applyMetadataChanges(before, changes);
  if (!result.ok) return refuse("invalid_request", result.message);
  if (Buffer.byteLength(result.metadata) > LIMITS.metadataBytes) {
    return refuse(
      "payload_too_large",
      `Metadata may be ${LIMITS.metadataBytes} bytes of JSON; this change would make it larger.`,
    );
  }
  execution.metadata = result.metadata;
  change.events.push({
    k: "metadata.updated",
    t: batch.now,
    a: execution.attemptNumber,
    x: { keys: changes.map(({ key }) => key) },
  });
  return OK;
}

function performRelease(
  batch: Batch,
  change: Change,
  operation: Extract<Operation, { kind: "release" }>,
): OperationOutcome {
  const release = toRelease(operation);
  if (!("outcome" in release)) return release;
  const policyText = batch.policies.get(change.execution.runId)?.retry;
  const policy = policyText === undefined ? null : (JSON.parse(policyText) as ResolvedRetry);
  const delayMs = policy === null ? 0 : retryDelayMs(policy, change.execution.attemptNumber, batch.random());
  const decision = decideRelease(liveRun(change), release, policy?.maxAttempts ?? 1, delayMs);
  if (decision.kind === "refuse") return refuse("invalid_state", decision.message);
  applyDecision(change, decision, batch.now);
  return OK;
}

function toRelease(operation: Extract<Operation, { kind: "release" }>): Release | OperationOutcome {
  switch (operation.outcome) {
    case "succeeded": {
      const output = operation.output === undefined ? null : JSON.stringify(operation.output);
      if (output !== null && Buffer.byteLength(output) > LIMITS.outputBytes) {
        return refuse(
          "payload_too_large",
          `Output may be ${LIMITS.outputBytes} bytes of JSON; return a reference to larger data.`,
        );
      }
      return { outcome: "succeeded", output };
    }
    case "failed": {
      if (!operation.failure)
        return refuse("invalid_request", "failure: required when the outcome is failed.");
      const { retry_after: retryAfter, stack, ...failure } = operation.failure;
      // Too long a wait is cut: refusing it would leave the worker with an attempt that it cannot end.
      const retryAfterMs = retryAfter
        ? Math.min(parseDuration(retryAfter) ?? MAX_DELAY_MS, MAX_DELAY_MS)
        : null;
      return {
        outcome: "failed",
        failure: { ...failure, stack: stack ?? null, ...(retryAfterMs === null ? {} : { retryAfterMs }) },
      };
    }
    case "cancelled":
      return { outcome: "cancelled" };
    case "rejected":
      return { outcome: "rejected" };
  }
}

const liveRun = ({ execution }: Change) => ({
  status: execution.status,
  attemptNumber: execution.attemptNumber,
  attemptStarted: execution.attemptStartedAt !== null,
});

/** Decodes the ids of an operation; null when one is malformed, which is answered as a lease that is not held. */
export function decodeOperation(operation: Operation): LeasedOperation | null {
  const environmentId = decodeId("env", operation.environment_id);
  const runId = decodeId("run", operation.run_id);
  const leaseId = decodeId("lease", operation.lease_id);
  if (environmentId === null || runId === null || leaseId === null) return null;
  return { environmentId, runId, leaseId, epoch: operation.epoch, operation };
}
