import { readFileSync } from "node:fs";
import { until } from "../../../server/test/support/until.ts";

/** Whether a process runs; one that has ended and waits for a parent to notice does not. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/\) Z /.test(stat);
  } catch {
    return false;
  }
}

/** Resolves when the process has ended. */
export async function hasEnded(pid: number): Promise<void> {
  await until(`process ${pid} to end`, 60_000, async () => !isAlive(pid));
}
