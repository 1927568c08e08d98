import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import type { RetryOptions } from "./retry-options.ts";
import { runTries } from "./runtime/durable/run-tries.ts";

/** Options of `step()`. */
export type StepOptions = {
  /** Tries within this attempt of the run. Default: none, a failed step fails at once. */
  retry?: RetryOptions;
};

/**
 * Runs `fn` once and keeps its result in the run's journal: when the run goes on after a wait, a crash or a failed
 * attempt, the step has the same result without running again. Before it runs, everything that the run did before is
 * durable. It runs again only when it was interrupted or failed, so make its effects repeatable.
 *
 * The result is JSON of up to 512 KiB, and is what JSON makes of it, at the first time too. `name` has 1 to 256
 * characters and may be used more than once. Inside, only outputs, metadata and logging may be used.
 *
 * Rejects with `StepError` when it has failed and no tries are left. Throw `NonRetryableError` in it to end the tries, or
 * `RetryAfterError` to say when the next one begins.
 */
export type Step = <T>(name: string, fn: () => T | Promise<T>, options?: StepOptions) => Promise<T>;

export const createStep =
  (locate: LocateRun): Step =>
  async <T>(name: string, fn: () => T | Promise<T>, options: StepOptions = {}): Promise<T> => {
    const run = locateOutsideStep(locate, `step("${name}")`);
    return run.step<T>(name, () => runTries(run, name, fn, options.retry));
  };
