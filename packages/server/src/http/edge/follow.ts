import { sseFrame } from "@keelson/contract";
import type { RequestFacts } from "./route.ts";
import { sequenceCursor } from "./page.ts";

/** `follow=1`, or `Accept: text/event-stream`. */
export const wantsEventStream = (request: RequestFacts, follow: string | undefined): boolean =>
  follow === "1" || request.acceptsEventStream;

/** `Last-Event-ID` wins over `cursor`: it is what a reconnecting browser last received. */
export const followCursor = (request: RequestFacts, cursor: string | undefined): number =>
  sequenceCursor(request.lastEventId ?? cursor);

/** Tells a follower that entries are missing, and where the feed goes on. */
export const gapFrame = (earliest: number): string =>
  sseFrame("gap", String(earliest), JSON.stringify({ earliest_cursor: String(earliest) }));
