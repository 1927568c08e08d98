import type { FeedHub } from "../../core/feeds/feed-hub.ts";
import type { Feed, Sink } from "../../core/feeds/feed.ts";
import { DomainError } from "../../domain-error.ts";
import type { Frames } from "./event-stream.ts";
import { sequenceCursor } from "./page.ts";

/** One of the feeds that are followed over one connection; the name has neither a comma nor a colon. */
export type NamedFeed = { name: string; feed: Feed<Frames>; after: number };

/** `endOf`: what is told when all are over, of their final states in the order of the feeds. */
export type SeveralFeeds = { feeds: readonly NamedFeed[]; endOf(states: unknown[]): unknown };

type Place = NamedFeed & { end: unknown };

/**
 * Follows several feeds over one connection. Each event's id is the place in all of them, so that a reader who goes on from
 * the last event that it has gets no entry of any feed twice and misses none. The feeds are those that readers of one alone
 * follow: they share reads and encoded frames.
 *
 * @returns how they have ended, once all have; null when the signal was aborted. Rejects when a read fails.
 */
export async function followSeveral(
  hub: FeedHub<Frames>,
  { feeds, endOf }: SeveralFeeds,
  sink: Sink<Frames>,
  signal: AbortSignal,
): Promise<{ state: unknown; cursor: string } | null> {
  const places: Place[] = feeds.map((feed) => ({ ...feed, end: undefined }));
  const cursor = (): string => places.map(({ name, after }) => `${name}:${after}`).join(",");

  const followOne = async (place: Place, round: AbortController, until: AbortSignal): Promise<void> => {
    const own: Sink<Frames> = {
      turn: (frames) => sink.turn(frames),
      write: (frames) => {
        const placed = withIds(frames, (sequence) => {
          place.after = sequence;
          return cursor();
        });
        const takesMore = sink.write(placed);
        // The others stop, too: a slow reader holds one batch, and not one of each feed.
        if (!takesMore) round.abort();
        return takesMore;
      },
      // The round is over, and waits for all of them.
      drained: () => Promise.resolve(),
    };
    place.end = (await hub.follow(place.feed, place.after, own, until))?.state;
  };

  while (!signal.aborted) {
    const round = new AbortController();
    const until = AbortSignal.any([signal, round.signal]);
    const open = places.filter(({ end }) => end === undefined);
    try {
      await Promise.all(open.map((place) => followOne(place, round, until)));
    } finally {
      round.abort();
    }
    if (places.every(({ end }) => end !== undefined))
      return { state: endOf(places.map(({ end }) => end)), cursor: cursor() };
    await sink.drained();
  }
  return null;
}

const LINE_FEED = 10;
const ID = "id: ";

/** Frames with other ids. Each begins with its id, and its data is one line. */
function withIds(frames: Frames, idOf: (sequence: number) => string): Buffer {
  const bytes =
    typeof frames === "string"
      ? Buffer.from(frames)
      : Buffer.from(frames.buffer, frames.byteOffset, frames.length);
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const line = bytes.indexOf(LINE_FEED, from);
    const end = bytes.indexOf("\n\n", line) + 2;
    const sequence = Number(bytes.toString("latin1", from + ID.length, line));
    parts.push(Buffer.from(`${ID}${idOf(sequence)}`), bytes.subarray(line, end));
    from = end;
  }
  return Buffer.concat(parts);
}

/**
 * The places that a cursor of several feeds names, in the order of `names`. A feed that it does not name begins at the start.
 *
 * @throws DomainError `invalid_cursor`.
 */
export function placesOf(cursor: string | null | undefined, names: readonly string[]): number[] {
  const places = new Map<string, number>();
  for (const part of cursor ? cursor.split(",") : []) {
    const [name = "", sequence, ...rest] = part.split(":");
    if (sequence === undefined || rest.length > 0 || !names.includes(name) || places.has(name))
      throw new DomainError(
        "invalid_cursor",
        "The cursor of several streams is the id of the last event received, such as output:12,notes:3; without one all begin at the start.",
      );
    places.set(name, sequenceCursor(sequence));
  }
  return names.map((name) => places.get(name) ?? 0);
}
