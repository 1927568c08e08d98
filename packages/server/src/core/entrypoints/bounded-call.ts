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

/** The machine gave the work no time; nothing is known of the work. */
export class StarvedError extends Error {
  constructor() {
    super("The work got almost no time on a processor.");
    this.name = "StarvedError";
  }
}

/** The last try lasts so many times the bound: with a twentieth of a processor, work within its bound still ends. */
const LONGEST_FACTOR = 16;
/** On a processor of its own, work has used its bound when it is ended; the rest is the watch's and the machine's. */
const CLOCK_MARGIN = 1.25;

/**
 * Bounds work by its time on a processor. The watch goes by the clock, which on a busy machine says little of the work: work
 * that was ended and had used less than the bound begins again, with twice the time on the clock. It must have no effects.
 *
 * @param boundMs milliseconds of this thread on a processor
 * @returns `done: false` when the work used its bound and had not ended. Errors of the work are thrown on.
 * @throws StarvedError when the work did not get its bound in twenty times as long
 */
export function callBounded<Result>(boundMs: number, work: () => Result): BoundedResult<Result> {
  for (let factor = 1; factor <= LONGEST_FACTOR; factor *= 2) {
    const before = process.threadCpuUsage();
    const result = callOnce(Math.ceil(boundMs * factor * CLOCK_MARGIN), work);
    if (result.done) return result;
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1_000 >= boundMs) return result;
  }
  throw new StarvedError();
}

function callOnce<Result>(timeoutMs: number, work: () => Result): BoundedResult<Result> {
  let result: BoundedResult<Result> = { done: false };
  const keepResult = (): void => {
    result = { done: true, value: work() };
  };
  slot.work = keepResult;
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
