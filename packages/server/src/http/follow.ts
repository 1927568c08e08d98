import { sseFrame } from "@keelson/contract";
import { followFeed, type Feed } from "../core/feeds/follow-feed.ts";
import type { Wakes } from "../core/feeds/wakes.ts";
import type { Frames } from "./event-stream.ts";
import type { RequestFacts } from "./route.ts";
import { sequenceCursor } from "./page.ts";

/** `follow=1`, or `Accept: text/event-stream`. */
export const wantsEventStream = (request: RequestFacts, follow: string | undefined): boolean =>
  follow === "1" || request.acceptsEventStream;

/** `Last-Event-ID` wins over `cursor`: it is what a reconnecting browser last received. */
export const followCursor = (request: RequestFacts, cursor: string | undefined): number =>
  sequenceCursor(request.lastEventId ?? cursor);

/** The frames of a feed whose batches are encoded already, then `end` with the final state when the source has ended. */
export async function* feedFrames(
  wakes: Wakes,
  feed: Feed<Frames>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Frames> {
  for await (const item of followFeed(wakes, feed, after, signal)) {
    if (item.kind === "batch") yield item.batch;
    else yield sseFrame("end", String(item.cursor), JSON.stringify(item.state));
  }
}
