import { setTimeout as sleep } from "node:timers/promises";

/**
 * Stands where the real thing would be done; this one only takes a moment. It runs in a step, which is done again when
 * it was interrupted: pass `idempotencyKey` on to whatever does the work, so that it happens once.
 *
 * @returns what was done, for the assistant to report.
 */
export async function act(
  action: string,
  options: { idempotencyKey: string; signal: AbortSignal },
): Promise<string> {
  await sleep(400, undefined, { signal: options.signal });
  return `done: ${action} (only in this example; job ${options.idempotencyKey.slice(-6)})`;
}
