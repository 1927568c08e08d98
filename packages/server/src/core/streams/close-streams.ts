import type { Tx } from "../../db/queryable.ts";
import { afterInput } from "./after-input.ts";
import { joinEffects, type StreamEffects } from "./stream-effects.ts";
import { setGates } from "./stream-writes.ts";

/** Sessions have ended: their streams take nothing more but what a live run writes, and who waits for input is told. */
export async function closeStreams(
  tx: Tx,
  sessions: readonly { environmentId: string; id: string }[],
  now: number,
): Promise<StreamEffects> {
  const closed = new Map<string, Awaited<ReturnType<typeof setGates>>>();
  for (const environmentId of [...new Set(sessions.map((session) => session.environmentId))].sort()) {
    const ids = sessions.filter((session) => session.environmentId === environmentId).map(({ id }) => id);
    closed.set(environmentId, await setGates(tx, environmentId, ids, "ended"));
  }
  // All streams are locked before the first live run is.
  const effects: StreamEffects[] = [];
  for (const [environmentId, streams] of closed) {
    const inputs = streams.filter(({ direction }) => direction === "input").map(({ streamId }) => streamId);
    const settled = await afterInput(tx, environmentId, inputs, now);
    effects.push({ streamIds: streams.map(({ streamId }) => streamId), settled });
  }
  return joinEffects(effects);
}
