import type { Run } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";

/** Of the runs that ended by themselves: cancelled ones say nothing of the code. Null: there are none. */
export function successRate(
  runs: readonly Pick<Run, "status">[],
): { ended: number; succeeded: number } | null {
  const ended = runs.filter(({ status }) => isTerminalRunStatus(status) && status !== "cancelled");
  if (ended.length === 0) return null;
  return { ended: ended.length, succeeded: ended.filter(({ status }) => status === "succeeded").length };
}
