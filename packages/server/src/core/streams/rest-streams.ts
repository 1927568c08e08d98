import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { setGates } from "./stream-writes.ts";

/** The newest run of a session has ended: from here on a record of its input streams starts the next turn. */
export async function restStreams(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<void> {
  await setGates(tx, environmentId, [sessionId], "idle");
}
