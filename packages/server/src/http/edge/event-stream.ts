import { once } from "node:events";
import type { ServerResponse } from "node:http";
import {
  sseFrame,
  SSE_HEADERS,
  SSE_KEEPALIVE_FRAME,
  SSE_KEEPALIVE_INTERVAL_MS,
  SSE_RETRY_FRAME,
  type ErrorBody,
  type Uuid,
} from "@keelson/contract";
import type { FeedHub } from "../../core/feeds/feed-hub.ts";
import type { Feed, Sink } from "../../core/feeds/feed.ts";
import type { FairTurns } from "./fair-turns.ts";
import { toErrorReply } from "./error-reply.ts";
import { refusalOf } from "./open-waits.ts";
import { followSeveral, type SeveralFeeds } from "./several-feeds.ts";

/**
 * Server-sent events. Frames go straight to the socket, and the feed is asked for more only when the socket has taken what
 * it was given: a slow reader holds one batch and the socket's buffer, however much is waiting for it.
 */
export type EventStreams = {
  /** Writes the feed until it ends, the reader goes away or the signal aborts, and what refused it. Never rejects. */
  send(stream: EventStream): Promise<void>;
  /** How many are open. */
  count(): number;
  /** Stops the keep-alive. */
  close(): void;
};

/** One or more frames as they go out: text, or bytes that readers of the same place share. */
export type Frames = string | Uint8Array;

/** A feed and where its reader is, or several over one connection. Their batches are encoded already. */
export type Followed = { feed: Feed<Frames>; after: number; last?: LastFrames } | SeveralFeeds;

/** What is written last, where that is not an event `end` or `error`. Null: nothing. */
type LastFrames = {
  end(end: { state: unknown; cursor: number | string }): Frames | null;
  error(error: ErrorBody["error"]): Frames;
  /** The server stops. */
  stop(): Frames | null;
};

export type EventStream = {
  response: ServerResponse;
  followed: Followed;
  /** Whose it is; null: of no environment. */
  environmentId: Uuid<"env"> | null;
  signal: AbortSignal;
  requestId: string;
  onError: (error: unknown) => void;
};

/** In shares of a small request: bytes that cost as much to write, what a write costs besides, and bytes to read. */
const COST_BYTES = 65_536;
const WRITE_COST = 0.1;
const READ_COST_BYTES = 16_384;

type State = { wroteLately: boolean };

export function createEventStreams(feeds: FeedHub<Frames>, turns: FairTurns): EventStreams {
  const open = new Map<ServerResponse, State>();
  // One timer for all. A stream that was quiet for a whole period gets a comment, so none is quiet for two.
  const timer = setInterval(() => {
    for (const [response, state] of open) {
      if (!state.wroteLately && !response.writableNeedDrain) response.write(SSE_KEEPALIVE_FRAME);
      state.wroteLately = false;
    }
  }, SSE_KEEPALIVE_INTERVAL_MS / 2);
  timer.unref();
  return {
    send: async (stream) => {
      const state = { wroteLately: true };
      open.set(stream.response, state);
      try {
        await write(feeds, turns, stream, state);
      } finally {
        open.delete(stream.response);
      }
    },
    count: () => open.size,
    close: () => clearInterval(timer),
  };
}

async function write(
  feeds: FeedHub<Frames>,
  turns: FairTurns,
  { response, followed, environmentId, signal, requestId, onError }: EventStream,
  state: State,
): Promise<void> {
  const last = ("feed" in followed ? followed.last : undefined) ?? LAST_FRAMES;
  response.writeHead(200, SSE_HEADERS);
  response.write(SSE_RETRY_FRAME);
  const sink: Sink<Frames> = {
    turn: (frames) =>
      environmentId === null
        ? undefined
        : turns.enter(environmentId, WRITE_COST + frames.length / COST_BYTES),
    write: (frames) => {
      state.wroteLately = true;
      return response.write(frames);
    },
    drained: () => drained(response, signal),
  };
  try {
    const charged = (feed: Feed<Frames>): Feed<Frames> => inTurn(feed, turns, environmentId);
    const end =
      "feeds" in followed
        ? await followSeveral(feeds, eachFeed(followed, charged), sink, signal)
        : await feeds.follow(charged(followed.feed), followed.after, sink, signal);
    if (end !== null) writeIfAny(response, last.end(end));
    else if (signal.aborted && refusalOf(signal) === null && !response.destroyed)
      writeIfAny(response, last.stop());
  } catch (error) {
    if (!signal.aborted) {
      onError(error);
      response.write(last.error(toErrorReply(error, requestId).body.error));
    }
  }
  const refusal = refusalOf(signal);
  if (refusal !== null) response.write(last.error(toErrorReply(refusal, requestId).body.error));
  // Ended, never destroyed: what was written last is still on its way.
  response.end();
}

const LAST_FRAMES: LastFrames = {
  end: ({ cursor, state }) => sseFrame("end", String(cursor), JSON.stringify(state)),
  // Without an id, so that the reader goes on from the last event it has.
  error: (error) => `event: error\ndata: ${JSON.stringify(error)}\n\n`,
  stop: () => null,
};

function writeIfAny(response: ServerResponse, frames: Frames | null): void {
  if (frames !== null) response.write(frames);
}

const eachFeed = (several: SeveralFeeds, change: (feed: Feed<Frames>) => Feed<Frames>): SeveralFeeds => ({
  ...several,
  feeds: several.feeds.map((named) => ({ ...named, feed: change(named.feed) })),
});

/** Each read of an environment's feed waits for its turn, and is charged by what it found. */
function inTurn(feed: Feed<Frames>, turns: FairTurns, environmentId: Uuid<"env"> | null): Feed<Frames> {
  if (environmentId === null) return feed;
  return {
    ...feed,
    read: async (after) => {
      await turns.enter(environmentId, 1);
      const page = await feed.read(after);
      if (page.batch !== null) turns.charge(environmentId, page.batch.length / READ_COST_BYTES);
      return page;
    },
  };
}

async function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!response.writableNeedDrain) return;
  try {
    await once(response, "drain", { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
