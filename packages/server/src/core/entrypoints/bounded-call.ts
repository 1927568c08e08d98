import { createContext, Script } from "node:vm";

/**
 * Runs synchronous work for at most so long. V8 ends it wherever it is, inside a regular expression too.
 *
 * The watch costs about 0.1 to 0.7 ms (a thread), so it is for work whose length somebody else decides.
 */
const slot: { work: (() => void) | null } = { work: null };
const context = createContext(slot);
const script = new Script("work()");

export type BoundedResult<Result> = { done: true; value: Result } | { done: false };

/** A machine that stands still for longer than the time, so often in a row, is not waited for. */
const TRIES = 3;

/**
 * Errors of the work are thrown on; `done: false` when it was ended.
 *
 * The watch goes by the clock, and on a busy machine that says little of the work: work that had less than half of the time
 * on a processor is done again. It must have no effects.
 */
export function callBounded<Result>(timeoutMs: number, work: () => Result): BoundedResult<Result> {
  for (let tries = 1; ; tries += 1) {
    const before = process.threadCpuUsage();
    const result = callOnce(timeoutMs, work);
    if (result.done || tries === TRIES) return result;
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1_000 >= timeoutMs / 2) return result;
  }
}

function callOnce<Result>(timeoutMs: number, work: () => Result): BoundedResult<Result> {
  let result: BoundedResult<Result> = { done: false };
  slot.work = () => {
    result = { done: true, value: work() };
  };
  try {
    script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return { done: false };
  } finally {
    slot.work = null;
  }
  return result;
}

/** The error may be of the context's own `Error`, so it is told by its code alone. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
