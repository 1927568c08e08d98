import type { Database } from "../../db/pool.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { appendLiveInput } from "./live-input-writes.ts";
import type { ProcessKey } from "./process-reads.ts";
import { MAX_WAITING_BYTES, sendInput } from "./send-input.ts";
import type { WorkspacePolls } from "./workspace-polls.ts";

export type InputContext = { db: Database; wakes: Wakes; workspacePolls: WorkspacePolls };

/**
 * As `sendInput`, in one statement where the process runs in a live workspace, and then given to the poll of its worker that
 * waits here.
 */
export async function takeInput(
  { db, wakes, workspacePolls }: InputContext,
  key: ProcessKey,
  input: { data: Buffer; offset: number | null } | "close",
  now: number,
): Promise<{ offset: number }> {
  // Of no bytes there is nothing to append, but maybe something to refuse.
  const taken =
    input === "close" || input.data.length === 0
      ? null
      : await appendLiveInput(db, key, { ...input, maxWaitingBytes: MAX_WAITING_BYTES }, now);
  if (taken === null || input === "close") return db.transaction((tx) => sendInput(tx, key, input, now));
  const { inputBytes, workerId, ...place } = taken;
  const { data } = input;
  workspacePolls.giveInput(workerId, {
    ...place,
    process: { kind: key.kind, id: key.id },
    offset: inputBytes - data.length,
    data,
  });
  wakes.wake(wakeKeys.workerWorkspaces(workerId));
  return { offset: inputBytes };
}
