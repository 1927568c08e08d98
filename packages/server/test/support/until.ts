// How a test waits for a state.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** A test that waits for a state and has not seen it by then takes it that it never comes. */
const SHORTEST_MS = 60_000;
const EVERY_MS = 20;

/**
 * How long to wait for a state: a minute at least, and longer when the file has its second chance. What a test waits for
 * comes in milliseconds on a quiet machine; only a failure takes this long.
 *
 * @param ms what the test asks for, in milliseconds
 */
export const patience = (ms = SHORTEST_MS): number =>
  Math.max(ms, SHORTEST_MS) * Number(process.env["KEELSON_TEST_PATIENCE"] ?? 1);

/**
 * Asks until it holds; what cannot be asked because something is down is asked again.
 *
 * @param timeoutMs what it takes on a quiet machine, at most; it is given a minute in any case
 */
export async function until(what: string, timeoutMs: number, holds: () => Promise<boolean>): Promise<void> {
  const patientMs = patience(timeoutMs);
  const deadline = performance.now() + patientMs;
  let lastError: unknown;
  for (;;) {
    try {
      if (await holds()) return;
      lastError = undefined;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      lastError = error;
    }
    if (performance.now() > deadline)
      throw new Error(`Not within ${patientMs} ms: ${what}.`, { cause: lastError });
    await sleep(EVERY_MS);
  }
}
