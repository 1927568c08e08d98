// Runs again what PostgreSQL has rolled back for the sake of others.

import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const MAX_ATTEMPTS = 6;
const BACKOFF_BASE_MS = 4;
// serialization_failure and deadlock_detected: the same work can succeed.
const ROLLED_BACK = new Set(["40001", "40P01"]);

/** Whether PostgreSQL rolled it back because it met other transactions. */
export function isRolledBack(error: unknown): boolean {
  for (let link = error; link instanceof Error; link = link.cause) {
    const { code } = link as { code?: unknown };
    if (typeof code === "string" && ROLLED_BACK.has(code)) return true;
  }
  return false;
}

/** Runs it up to six times, a little later each time. It must have no effect outside of the database. */
export async function runAgain<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isRolledBack(error)) throw error;
      await sleep(randomInt(1, BACKOFF_BASE_MS * 2 ** attempt));
    }
  }
}
