// How a test waits for a state.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** A test that waits for a state and has not seen it by then takes it that it never comes. */
const SHORTEST_MS = 60_000;
/** Between two looks: what comes soon is seen at once, and a long wait does not keep a core busy with asking. */
const SOONEST_MS = 20;
const LATEST_MS = 200;
const OF_THE_WAIT = 0.04;

/**
 * How long to wait for a state: a minute at least, and longer when the file has its second chance. What a test waits for
 * comes in milliseconds on a quiet machine; only a failure takes this long.
 *
 * @param ms what the test asks for, in milliseconds
 */
export const patience = (ms = SHORTEST_MS): number =>
  Math.max(ms, SHORTEST_MS) * Number(process.env["KEELSON_TEST_PATIENCE"] ?? 1);

/** How long to wait for the next look at a state that has been waited for since `begun`, a time of `performance`. */
export const nextLookMs = (begun: number): number =>
  Math.min(Math.max(SOONEST_MS, (performance.now() - begun) * OF_THE_WAIT), LATEST_MS);

/**
 * Lets time pass for which nothing can be waited for: load that comes at a rate or at random, a moment in which something must
 * not happen, a limit that has to run out. What comes is waited for with `until`.
 *
 * @param why what the time is for, for whoever reads the test
 */
export const letPass = (ms: number, why: string): Promise<void> => sleep(ms, why).then(() => undefined);

/**
 * Asks until it holds; what cannot be asked because something is down is asked again.
 *
 * @param timeoutMs what it takes on a quiet machine, at most; it is given a minute in any case
 */
export async function until(what: string, timeoutMs: number, holds: () => Promise<boolean>): Promise<void> {
  const patientMs = patience(timeoutMs);
  const begun = performance.now();
  const deadline = begun + patientMs;
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
    await sleep(nextLookMs(begun));
  }
}
