import { LIMITS, parseDuration } from "@keelson/contract";
import { MAX_DELAY_MS, retryDelayMs, type ResolvedRetry } from "../runs/retry-policy.ts";
import { decideRelease, type Release } from "../runs/run.ts";
import { goOn } from "./durable-operations.ts";
import { applyDecision, liveRun, type Change } from "../executions/execution.ts";
import {
  type LeasedContent,
  type PreparedContinuation,
  OK,
  refuse,
  type Batch,
  type OperationOutcome,
} from "./report-batch.ts";

/** The end of an attempt, as its worker says it. */
export function performRelease(
  batch: Batch,
  change: Change,
  operation: Extract<LeasedContent, { kind: "release" }>,
  continuation: PreparedContinuation | undefined,
): OperationOutcome {
  const release = toRelease(operation, continuation);
  if (!("outcome" in release)) return release;
  // Code that ends did not only wait: a timer of its own may have been what it went on by.
  if (release.outcome !== "suspended") goOn(batch, change);
  const run = liveRun(change);
  const policyText = batch.policies.get(change.execution.runId)?.retry;
  const policy = policyText === undefined ? null : (JSON.parse(policyText) as ResolvedRetry);
  const delayMs = policy === null ? 0 : retryDelayMs(policy, run.attemptNumber, batch.random());
  const decision = decideRelease(run, release, policy?.maxAttempts ?? 1, delayMs);
  if (decision.kind === "refuse") return refuse("invalid_state", decision.message);
  applyDecision(change, decision, batch.now);
  if (decision.kind === "move" && decision.continued === true && continuation && "payload" in continuation)
    batch.continuations.push({ execution: change.execution, ...continuation });
  return OK;
}

function toRelease(
  operation: Extract<LeasedContent, { kind: "release" }>,
  continuation: PreparedContinuation | undefined,
): Release | OperationOutcome {
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
      return { outcome: "rejected", ...(operation.failure && { reason: operation.failure.message }) };
    case "suspended":
      return { outcome: "suspended" };
    case "continued": {
      if (continuation === undefined) throw new Error("A continuation was not prepared.");
      if (!("refusal" in continuation)) return { outcome: "continued" };
      const { refusal: message } = continuation;
      return {
        outcome: "failed",
        failure: { kind: "payload_invalid", message, stack: null, retryable: false },
      };
    }
  }
}
