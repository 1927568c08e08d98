import { joinSettled, NOTHING_SETTLED, wakeSettled, type Settled } from "../executions/settle-changes.ts";
import { wakeKeys, type Wakes } from "../feeds/wakes.ts";

/** What others should look at once the transaction is durable: followers of streams, and runs that it settled. */
export type StreamEffects = { streamIds: string[]; settled: Settled };

export const NO_STREAM_EFFECTS: StreamEffects = { streamIds: [], settled: NOTHING_SETTLED };

export function joinEffects(parts: readonly StreamEffects[]): StreamEffects {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return {
    streamIds: [...new Set(parts.flatMap((part) => part.streamIds))],
    settled: joinSettled(parts.map((part) => part.settled)),
  };
}

/** After the commit. */
export function wakeStreams(wakes: Wakes, { streamIds, settled }: StreamEffects): void {
  for (const streamId of streamIds) wakes.wake(wakeKeys.stream(streamId));
  wakeSettled(wakes, settled);
}
