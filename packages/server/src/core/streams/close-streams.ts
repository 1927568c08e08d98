import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { tellInputWaits } from "./tell-input-waits.ts";
import { setGates } from "./stream-writes.ts";

/** Sessions have ended: their streams take nothing more but what a live run writes, and who waits for input is told. */
export async function closeStreams(
  tx: Tx,
  sessions: readonly { environmentId: Uuid<"env">; id: Uuid<"sess"> }[],
  now: number,
): Promise<void> {
  const closed = new Map<Uuid<"env">, Awaited<ReturnType<typeof setGates>>>();
  for (const environmentId of [...new Set(sessions.map((session) => session.environmentId))].sort()) {
    const ids = sessions.filter((session) => session.environmentId === environmentId).map(({ id }) => id);
    closed.set(environmentId, await setGates(tx, environmentId, ids, "ended"));
  }
  // All streams are locked before the first live run is.
  for (const [environmentId, streams] of closed) {
    const inputs = streams.filter(({ direction }) => direction === "input").map(({ streamId }) => streamId);
    await tellInputWaits(tx, environmentId, inputs, now);
    for (const { streamId } of streams) tx.wake(wakeKeys.stream(streamId));
  }
}
