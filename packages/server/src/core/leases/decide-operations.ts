import { LIMITS } from "@keelson/contract";
import { decideStart } from "../runs/run.ts";
import { applyDecision, deadlineOf, liveRun, type Change, type Execution } from "../executions/execution.ts";
import { performCheckpoint, performSteps, performWaits } from "./durable-operations.ts";
import { performChildRun, performInput, performOutput, performToken } from "./effect-operations.ts";
import { performExec } from "./exec-operations.ts";
import { repeatedMessage } from "./message-operations.ts";
import { performMetadata } from "./metadata-operations.ts";
import { performRelease } from "./perform-release.ts";
import { performState } from "./state-operations.ts";
import { performUsage } from "./usage-operations.ts";
import {
  OK,
  refuse,
  type Batch,
  type LeasedContent,
  type LeasedOperation,
  type OperationOutcome,
} from "./report-batch.ts";

const LOST: OperationOutcome = {
  ok: false,
  code: "lease_lost",
  message: "The lease was superseded or has ended; stop this execution and report nothing more for it.",
};

/**
 * Decides an operation on the copies in memory.
 *
 * @param index of the operation in its report
 */
export function applyOperation(batch: Batch, leased: LeasedOperation, index: number): OperationOutcome {
  const { operation } = leased;
  const change = batch.changes.get(leased.runId);
  if (change === undefined || change.execution.environmentId !== leased.environmentId)
    return afterTheEnd(batch, leased);
  const { execution } = change;
  if (execution.leaseId !== leased.leaseId || execution.epoch !== leased.epoch) return LOST;
  if (operation.sequence <= execution.appliedSequence) return repeated(batch, leased);
  if (change.ending !== null || execution.workerId !== batch.workerId) return LOST;
  if (operation.sequence !== execution.appliedSequence + 1) {
    return refuse(
      "invalid_state",
      `The next sequence of this lease is ${execution.appliedSequence + 1}; send operations in order.`,
    );
  }
  if (leased.oddAt !== undefined) {
    return refuse(
      "invalid_request",
      `${leased.oddAt} holds NUL or half of a surrogate pair; remove it, or send bytes as base64.`,
    );
  }
  const outcome = perform(batch, change, leased, index);
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

/** What an operation that was applied before has to say, it says again. */
function repeated(batch: Batch, { runId, operation }: LeasedOperation): OperationOutcome {
  const { facts } = batch;
  const position = "position" in operation ? operation.position : null;
  const entry = position === null ? undefined : facts.entries.get(`${runId} ${position}`);
  if (entry === undefined) return operation.kind === "outputs" ? repeatedMessage(batch, operation) : OK;
  return { ok: true, value: { kind: "effect", entry: entry.kind, value: entry.value, error: entry.error } };
}

function perform(batch: Batch, change: Change, leased: LeasedOperation, index: number): OperationOutcome {
  const { execution } = change;
  const { operation } = leased;
  switch (operation.kind) {
    case "start":
      return performStart(batch, change, Date.parse(operation.at));
    case "logs":
      return performLogs(batch, change, operation.chunks);
    case "events":
      for (const event of operation.events) {
        change.events.push({
          k: event.kind,
          t: timeOfEvent(batch, change, Date.parse(event.at)),
          a: execution.attemptNumber,
          ...(event.severity === undefined || event.severity === "info" ? {} : { s: event.severity }),
          m: event.message,
          ...(event.attributes === undefined ? {} : { x: event.attributes }),
        });
      }
      return OK;
    case "metadata":
      return performMetadata(batch, change, operation.changes);
    case "usage":
      return performUsage(batch, change, leased);
    case "release":
      return performRelease(batch, change, operation, leased.continuation);
    case "steps":
      return performSteps(batch, change, operation);
    case "waits":
      return performWaits(batch, change, operation);
    case "child-runs":
      return performChildRun(batch, change, leased, operation);
    case "checkpoints/ready":
      return performCheckpoint(batch, change, null);
    case "checkpoints/failed":
      return performCheckpoint(batch, change, operation.message);
    case "tokens":
      return performToken(batch, change, operation);
    case "outputs":
      return performOutput(batch, change, operation);
    case "inputs":
      return performInput(batch, change, index, operation);
    case "execs":
      return performExec(batch, change, index, operation);
    case "states":
      return performState(batch, change, operation);
  }
}

/** A start is reported soon, or together with what came soon after it; an older one is a clock that was set. */
const MAX_START_AGE_MS = 60_000;

/**
 * The attempt began as long before now as the worker's clock says it began before the report was sent: clocks of two
 * machines are never compared, and a run that was started and ended in one report still took its time. By the time of
 * arrival alone, steps of the attempt would have begun before it.
 */
function performStart(batch: Batch, change: Change, at: number): OperationOutcome {
  const { execution } = change;
  const decision = decideStart(liveRun(change));
  if (decision.kind === "refuse") return refuse("invalid_state", decision.message);
  const startedAt = batch.now - Math.min(batch.sentAt - at, MAX_START_AGE_MS);
  applyDecision(change, decision, startedAt);
  execution.attemptStartedAt ??= startedAt;
  execution.startedAt ??= startedAt;
  execution.deadlineAt = deadlineOf(execution, startedAt);
  if (execution.setbacks > 0) {
    execution.setbacks = 0;
    change.durable = true;
  }
  return OK;
}

/**
 * A worker's time by the server's clock, as the events that the server decides: as long before now as it is older than the
 * newest time of the report. Never before the attempt began, whatever was on its way for how long.
 */
function timeOf(batch: Batch, { attemptStartedAt }: Execution, at: number): number {
  const age = Math.max(0, batch.newestAt - at);
  return Math.min(batch.now, Math.max(attemptStartedAt ?? 0, batch.now - age));
}

/** Never before the event before it. */
const timeOfEvent = (batch: Batch, { execution, events }: Change, at: number): number =>
  Math.min(batch.now, Math.max(events.at(-1)?.t ?? 0, timeOf(batch, execution, at)));

function performLogs(
  batch: Batch,
  { execution }: Change,
  chunks: Extract<LeasedContent, { kind: "logs" }>["chunks"],
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
    const time = timeOf(batch, execution, Date.parse(at));
    batch.logs.push({ environmentId, runId, sequence, attemptNumber, stream, data, at: time });
  }
  return OK;
}
