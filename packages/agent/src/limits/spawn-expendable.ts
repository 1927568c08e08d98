import { readFileSync, writeFileSync } from "node:fs";

const OWN_SCORE = "/proc/self/oom_score_adj";
/** As if the process used half of the machine's memory more than it does: it goes long before agent, server and database. */
export const EXPENDABLE_SCORE = 500;

/**
 * Starts a process that the kernel ends before this one when the machine runs out of memory. The process inherits the raised
 * score from its first instruction on, because this process has that score while it starts the other. What a process with
 * CAP_SYS_RESOURCE starts cannot lower its score again.
 *
 * @param spawn starts the process before it returns.
 */
export function spawnExpendable<T>(spawn: () => T): T {
  const score = raiseOwnScore();
  try {
    return spawn();
  } finally {
    if (score !== null) writeFileSync(OWN_SCORE, score);
  }
}

/** @returns the former score; null when it stays as it is. */
function raiseOwnScore(): string | null {
  try {
    const score = readFileSync(OWN_SCORE, "latin1").trim();
    if (Number(score) >= EXPENDABLE_SCORE) return null;
    writeFileSync(OWN_SCORE, String(EXPENDABLE_SCORE));
    return score;
  } catch {
    // Only Linux has scores.
    return null;
  }
}
