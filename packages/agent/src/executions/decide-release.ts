import { formatDuration, LIMITS, type FailureKind, type ReleaseOutcome } from "@keelson/contract";
import { classifyBoot } from "../deaths/classify-boot.ts";
import { describeDeath } from "../deaths/death.ts";
import { FolderUnavailable } from "../task-hosts/declared-folders.ts";
import type { RunEnding } from "../task-hosts/host-run.ts";
import { TierUnavailable } from "../task-hosts/task-tier.ts";

export type ReleaseFailure = {
  kind: FailureKind;
  message: string;
  stack: string | null;
  retryable: boolean;
  retry_after?: string;
};

/** `output` and `payload` are JSON text. `payload` is what a run goes on with that continues; absent for none. */
export type Release = {
  outcome: ReleaseOutcome;
  output: string | null;
  failure: ReleaseFailure | null;
  payload?: string;
};

/** Why the agent asked the run to stop; null when it did not. */
export type Stop = "cancelled" | "timed_out" | "drained" | "workspace_gone" | null;

const MAX_TEXT = 65_536;

/** Text that every JSON reader and PostgreSQL takes: no NUL, no half of a surrogate pair, bounded. */
export const cleanText = (text: string): string =>
  text.slice(0, MAX_TEXT).toWellFormed().replaceAll("\0", "\ufffd");

export function failed(
  kind: FailureKind,
  message: string,
  stack: string | null,
  retryable: boolean,
  retryAfterMs?: number,
): Release {
  const failure: ReleaseFailure = {
    kind,
    message: cleanText(message),
    stack: stack === null ? null : cleanText(stack),
    retryable,
  };
  if (retryAfterMs !== undefined) failure.retry_after = formatDuration(Math.max(0, Math.round(retryAfterMs)));
  return { outcome: "failed", output: null, failure };
}

export const CANCELLED: Release = { outcome: "cancelled", output: null, failure: null };
/** Hands the lease back; the engine queues the run again. */
export const REJECTED: Release = { outcome: "rejected", output: null, failure: null };

/** Hands the lease back because infrastructure failed, saying how. */
export const handedBack = (message: string): Release => ({
  outcome: "rejected",
  output: null,
  failure: { kind: "lease_lost", message: cleanText(message), stack: null, retryable: true },
});

/** The run waits, and its journal has everything: it goes on elsewhere. */
export const SUSPENDED: Release = { outcome: "suspended", output: null, failure: null };

/** What counts besides the ending: limits as declared, and whether the run only waited, in a process it had for itself. */
export type EndingFacts = {
  maxDurationMs: number | null;
  memoryMb: number | null;
  parked: boolean;
  exclusive: boolean;
};

/** A process that was ended from outside while its run only waited: the run has lost nothing. */
function isHarmless(
  { death }: Extract<RunEnding, { kind: "died" }>,
  { parked, exclusive }: EndingFacts,
): boolean {
  return parked && (!exclusive || (death.uncaught === null && death.signal !== null));
}

/** What a lease is released with, from how its run ended and what the agent had asked of it. */
export function decideRelease(ending: RunEnding, stop: Stop, limits: EndingFacts): Release {
  if (stop === "cancelled") return CANCELLED;
  if (stop === "timed_out") {
    return failed(
      "timed_out",
      `The run took longer than its max_duration of ${formatDuration(limits.maxDurationMs ?? 0)}.`,
      null,
      true,
    );
  }
  if (stop === "workspace_gone") {
    return handedBack(
      "The worker has lost the run's workspace, or it was deleted; what had changed since its last version is lost.",
    );
  }
  switch (ending.kind) {
    case "abandoned":
      return REJECTED;
    case "died": {
      if (isHarmless(ending, limits)) return SUSPENDED;
      if (stop === "drained") return REJECTED;
      const { kind, message, stack, retryable } = describeDeath(ending.death, limits.memoryMb);
      if (kind === "lease_lost") return handedBack(message);
      return failed(kind, message, stack, retryable);
    }
    case "result":
      return decideResult(ending.result, stop);
  }
}

function decideResult(result: Extract<RunEnding, { kind: "result" }>["result"], stop: Stop): Release {
  switch (result?.outcome) {
    case "succeeded":
      return checkOutput(result.output);
    case "suspended":
      return SUSPENDED;
    case "continued":
      return checkPayload(result.payload);
    case "failed": {
      if (stop === "drained") return REJECTED;
      const { kind, message, stack, retryable, retryAfterMs } = result.failure;
      return failed(kind, message, stack, retryable, retryAfterMs);
    }
    case "cancelled":
      // The bundle says so only of an aborted signal; without a request it gave up by itself.
      if (stop === "drained") return REJECTED;
      return failed(
        "application_error",
        "The task ended as cancelled, but nobody had asked for that.",
        null,
        false,
      );
    default:
      return failed(
        "bundle_error",
        "The bundle's execute() gave no result; build it with a current SDK.",
        null,
        false,
      );
  }
}

function checkOutput(output: string | null): Release {
  if (output === null || output === undefined) return { outcome: "succeeded", output: null, failure: null };
  const bytes = Buffer.byteLength(output);
  if (bytes > LIMITS.outputBytes) {
    return failed(
      "application_error",
      `The task's output has ${bytes} bytes; the limit is ${LIMITS.outputBytes}. Store large results elsewhere and return where.`,
      null,
      false,
    );
  }
  return isJson(output) ? { outcome: "succeeded", output, failure: null } : notJson("an output");
}

/** What the server checks besides, and by the schema of the task, fails the run there. */
function checkPayload(payload: string | null): Release {
  const continued: Release = { outcome: "continued", output: null, failure: null };
  if (payload === null || payload === undefined) return continued;
  const bytes = Buffer.byteLength(payload);
  if (bytes > LIMITS.payloadBytes) {
    return failed(
      "application_error",
      `The payload of ctx.continueAs() has ${bytes} bytes; the limit is ${LIMITS.payloadBytes}. Store large data elsewhere and pass a reference.`,
      null,
      false,
    );
  }
  return isJson(payload) ? { ...continued, payload } : notJson("a payload");
}

/** The text goes into the report as it is: one that is no JSON would break the reports of other runs. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const notJson = (what: string): Release =>
  failed(
    "bundle_error",
    `The bundle gave ${what} that is no JSON; build it with a current SDK.`,
    null,
    false,
  );

/** Nothing was started: the worker lacks something for it. */
export function decidePreparation(error: unknown): Release {
  const reason = error instanceof Error ? error.message : String(error);
  // Another worker may have the folder; that none has is for who declared it to see.
  if (error instanceof FolderUnavailable) return failed("application_error", reason, null, true);
  return handedBack(
    error instanceof TierUnavailable ? reason : `The worker could not get the bundle: ${reason}`,
  );
}

/** A bundle did not come up. */
export function decideBoot(error: unknown, memoryMb: number | null): Release {
  const outcome = classifyBoot(error, memoryMb);
  if (outcome.blame === "infrastructure") return handedBack(outcome.message);
  const { kind, message, stack, retryable } = outcome.failure;
  return failed(kind, message, stack, retryable);
}
