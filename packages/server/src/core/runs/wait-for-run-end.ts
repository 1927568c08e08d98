import { isTerminalRunStatus, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { waitUntil } from "../feeds/wait-until.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { findRunStatus } from "./run-reads.ts";

/** Waits until the run has ended, or not longer than the time given. @returns whether it has ended. */
export async function waitForRunEnd(
  server: { db: Queryable; wakes: Wakes },
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return waitUntil(
    server,
    wakeKeys.run(runId),
    async () => {
      const status = await findRunStatus(server.db, environmentId, runId);
      return status === null || isTerminalRunStatus(status);
    },
    (hasEnded) => hasEnded,
    { waitMs: timeoutMs, signal },
  );
}
