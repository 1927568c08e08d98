import type { Random } from "../random.ts";
import { pause } from "../pause.ts";
import { isTransient, ServiceError } from "./service-error.ts";

const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 3_000;

/** The wait before repeat `attempt` (0 for the first): exponential, spread over its upper half, never below what the server asked. */
export function retryDelayMs(attempt: number, error: unknown, random: Random): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
  const spread = ceiling / 2 + (random() * ceiling) / 2;
  const asked = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(spread, asked);
}

export type RetryOptions = {
  random: Random;
  /** Ends the repeats; the last error is thrown. */
  signal: AbortSignal;
  /** Told of every failure that will be repeated. */
  onRetry?: (error: unknown, attempt: number) => void;
  /** Repeats at most so often; unlimited when absent. */
  attempts?: number;
};

/** Calls until it succeeds, is refused for good, or `signal` aborts. Every call of the worker protocol may be repeated safely. */
export async function retryCalls<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const last = options.attempts !== undefined && attempt + 1 >= options.attempts;
      if (last || !isTransient(error) || options.signal.aborted) throw error;
      options.onRetry?.(error, attempt);
      await pause(retryDelayMs(attempt, error, options.random), options.signal);
      if (options.signal.aborted) throw error;
    }
  }
}
