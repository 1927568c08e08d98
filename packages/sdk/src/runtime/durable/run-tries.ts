import type { DurableError, RunEventAttributes } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { randomFraction } from "../../client/random.ts";
import { runInside } from "../../current-run.ts";
import { StepTimeoutError } from "../../durable-errors.ts";
import { toMilliseconds, type DurationInput } from "../../duration-input.ts";
import type { RetryOptions } from "../../retry-options.ts";
import { readRetryAdvice } from "../../retry-advice.ts";
import { NonRetryableError } from "../../task-errors.ts";
import { toDurableError } from "../failure.ts";
import type { StepContext, StepOptions } from "../../step.ts";
import { encodeJson } from "../output.ts";
import type { DurableRun } from "./durable-run.ts";
import { UsageError } from "../../keelson-error.ts";

const MAX_MESSAGE_CHARACTERS = 1_000;

type Policy = {
  /** Of one try; null without a limit. */
  timeoutMs: number | null;
  maxAttempts: number;
  initialDelayMs: number;
  maxDelayMs: number;
  factor: number;
  jitter: boolean;
};

/** Throws a UsageError for options that make no sense. */
function readPolicy(timeout: DurationInput | undefined, retry: RetryOptions | undefined): Policy {
  const policy: Policy = {
    timeoutMs: timeout === undefined ? null : toMilliseconds(timeout, "timeout"),
    maxAttempts: retry === undefined ? 1 : (retry.maxAttempts ?? 3),
    initialDelayMs: toMilliseconds(retry?.initialDelay ?? "1s", "retry.initialDelay"),
    maxDelayMs: toMilliseconds(retry?.maxDelay ?? "1m", "retry.maxDelay"),
    factor: retry?.factor ?? 2,
    jitter: retry?.jitter ?? true,
  };
  if (!Number.isInteger(policy.maxAttempts) || policy.maxAttempts < 1)
    throw new UsageError(`retry.maxAttempts must be a whole number from 1, not ${policy.maxAttempts}`);
  if (!Number.isFinite(policy.factor) || policy.factor < 1)
    throw new UsageError(`retry.factor must be a number from 1, not ${policy.factor}`);
  return policy;
}

function delayMs(policy: Policy, failedTries: number): number {
  const full = Math.min(policy.maxDelayMs, policy.initialDelayMs * policy.factor ** (failedTries - 1));
  return policy.jitter ? full * (0.5 + randomFraction() / 2) : full;
}

/** Timers of JavaScript have no longer time. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Gives `fn` a signal, and rejects when the time of a try is over, whatever `fn` makes of the signal. */
async function withinTimeout<T>(
  run: DurableRun,
  name: string,
  timeoutMs: number | null,
  fn: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeoutMs === null || timeoutMs > MAX_TIMER_MS) return fn(run.signal);
  const over = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new StepTimeoutError(name, timeoutMs);
    reject(error);
    over.abort(error);
  }, timeoutMs);
  try {
    return await Promise.race([fn(AbortSignal.any([run.signal, over.signal])), promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The outcome of a step's function: JSON text, or the error that the step has failed with and what was thrown. */
export type StepOutcome = { text: string; sent(): void } | { error: DurableError; thrown: unknown };

/** The call of a step: where it is among the run's calls, and what gives its idempotency key. */
export type StepCall = { position: number; key(): string };

/** What a step runs, and how. */
export type StepWork = StepOptions & StepCall & { fn: (context: StepContext) => unknown };

/** The result's JSON text. Throws what fails the step without another try. */
async function runOnce(
  run: DurableRun,
  name: string,
  { fn, key }: StepWork,
  attempt: number,
  timeoutMs: number | null,
): Promise<string> {
  const call = async (signal: AbortSignal): Promise<unknown> =>
    fn({ signal, attempt, idempotencyKey: key() });
  await run.messages.beginTry(key, attempt);
  let messages = 0;
  const nameMessage = (): string => {
    messages += 1;
    return `${key()}:${messages}`;
  };
  const value: unknown = await runInside({ run, step: name, nameMessage }, () =>
    withinTimeout(run, name, timeoutMs, call),
  );
  const encoded = encodeJson(value, "result", LIMITS.journalValueBytes);
  if ("problem" in encoded) throw new NonRetryableError(`The result of step "${name}" ${encoded.problem}`);
  return encoded.text ?? "null";
}

/** Runs a step's function until it succeeds or has no tries left. Tells of each in the run's events; never rejects. */
export async function runTries(run: DurableRun, name: string, work: StepWork): Promise<StepOutcome> {
  const { host } = run.input;
  let last: unknown;
  try {
    const policy = readPolicy(work.timeout, work.retry);
    for (let number = 1; ; number += 1) {
      const startedAt = performance.now();
      try {
        const text = await runOnce(run, name, work, number, policy.timeoutMs);
        const attributes: RunEventAttributes["step.completed"] = {
          step: name,
          position: work.position,
          try: number,
          duration_ms: Math.round(performance.now() - startedAt),
        };
        return {
          text,
          sent: () => host.event({ kind: "step.completed", message: `Step "${name}" completed`, attributes }),
        };
      } catch (thrown) {
        last = thrown;
        const error = toDurableError(thrown);
        const advice = readRetryAdvice(thrown);
        const isLast = number >= policy.maxAttempts || !advice.retryable || run.signal.aborted;
        const waitMs = isLast ? null : Math.round(advice.retryAfterMs ?? delayMs(policy, number));
        host.event({
          kind: "step.failed",
          severity: isLast ? "error" : "warn",
          message: `Step "${name}" failed: ${error.message}`.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed(),
          attributes: {
            step: name,
            position: work.position,
            try: number,
            max_tries: policy.maxAttempts,
            duration_ms: Math.round(performance.now() - startedAt),
            retry_after_ms: waitMs,
          } satisfies RunEventAttributes["step.failed"],
        });
        if (waitMs === null) return { error, thrown };
        await run.clock.sleep(waitMs, run.signal);
      }
    }
  } catch (thrown) {
    // Options that make no sense, or the run was stopped between two tries.
    return { error: toDurableError(last ?? thrown), thrown: last ?? thrown };
  }
}
