import { encodeId, type StartTask } from "@keelson/contract";
import type { RunRow } from "../../../core/runs/run-reads.ts";
import { wireRetry } from "../runs/retry-wire.ts";

/** The start of a run like another one, with what that one was started with. */
export const replayBody = (run: RunRow, deploymentVersion: string | null): StartTask => ({
  ...(run.payload !== null && { payload: JSON.parse(run.payload) as unknown }),
  ...(run.metadata !== null && { metadata: JSON.parse(run.metadata) as Record<string, unknown> }),
  tags: run.tags ?? [],
  queue: run.queue,
  priority: run.priority,
  // Delays between attempts are the new version's: they may be what was wrong.
  retry: { max_attempts: wireRetry(run.retry).maxAttempts },
  ...(run.concurrencyKey !== null && { concurrency_key: run.concurrencyKey }),
  ...(run.workspaceId !== null && { workspace_id: encodeId("ws", run.workspaceId) }),
  ...(deploymentVersion !== null && { deployment_version: deploymentVersion }),
});
