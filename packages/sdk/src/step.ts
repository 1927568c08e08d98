import type { DurationInput } from "./duration-input.ts";
import type { JsonOf } from "./json-type.ts";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import type { RetryOptions } from "./retry-options.ts";
import { runTries } from "./runtime/durable/run-tries.ts";

/** Options of `step()`. */
export type StepOptions = {
  /** Retries within this attempt of the run. Default: none, so a failed step fails at once. */
  retry?: RetryOptions;
  /** A try that takes longer fails with a `StepTimeoutError`, which `retry` covers. Default: no limit. */
  timeout?: DurationInput;
};

/** The argument of a step's function. */
export type StepContext = {
  /**
   * Aborted when the run is cancelled, or when its `maxDuration` or the step's `timeout` has passed. Pass it to fetch,
   * timers and child processes: a function that ignores it continues beside the next try.
   */
  readonly signal: AbortSignal;
  /** 1 for the first try. After a crash the tries are counted from 1 again. */
  readonly attempt: number;
  /**
   * The key is the same in every try of this step, also after a crash, and different in every other step and run. Pass
   * it to the systems that you call, so that they do the work once.
   */
  readonly idempotencyKey: string;
};

/**
 * Runs `fn` once and stores its result in the run's journal. When the run continues after a wait, a crash or a failed
 * attempt, the step has the same result without running again. Before the step runs, all earlier effects of the run are
 * durable. The step runs again only after it was interrupted or failed, so make its effects repeatable: see
 * `idempotencyKey`.
 *
 * The result is JSON of up to 512 KiB. It is the output of `JSON.stringify`, also the first time: a `Date` is a string,
 * in the type too. The step fails when the result has NaN, Infinity, an invalid Date, a BigInt, a Map, a Set, NUL or
 * half of a surrogate pair. `name` has 1 to 256 characters and may be used more than once. Inside a step, only outputs,
 * metadata, logging and `session.input.pending()` may be used.
 *
 * Rejects with `StepError` after the last try has failed. In the step, throw `NonRetryableError` to stop the retries, or
 * `RetryAfterError` to say when the next try begins.
 */
export type Step = <T>(
  name: string,
  fn: (context: StepContext) => T | Promise<T>,
  options?: StepOptions,
) => Promise<JsonOf<T>>;

export const createStep =
  (locate: LocateRun): Step =>
  async <T>(
    name: string,
    fn: (context: StepContext) => T | Promise<T>,
    options: StepOptions = {},
  ): Promise<JsonOf<T>> => {
    const run = locateOutsideStep(locate, `step("${name}")`);
    return run.step<JsonOf<T>>(name, (call) => runTries(run, name, { ...options, fn, ...call }));
  };
