import { HEADERS } from "@keelson/contract/plain";
import type { WireObjects } from "./camel-cased.ts";
import { sleep } from "./clock.ts";
import { ConflictError, ConnectionError, errorOf, ApiError } from "./errors.ts";
import { readEvents, type StreamEvent } from "./read-events.ts";
import { backoffMs, mayRepeat } from "./retry.ts";
import type { Transport } from "./transport.ts";

/** Options of everything that follows an event stream. */
export type FollowOptions = {
  /** Reading starts after this cursor. By default at the beginning. */
  cursor?: string;
  /** Ends the call, or the wait; it rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * The asked-for cursor is older than what is kept. Called with where the stream goes on; without it the stream ends
   * with `cursor_expired`.
   */
  onGap?: (earliestCursor: string | null) => void;
  /** Called when a connection is there: the first one, and each after `onReconnect`. */
  onConnect?: () => void;
  /** Called before each reconnect with the error that ended the connection. */
  onReconnect?: (failure: unknown) => void;
  /** Failed reconnects in a row before the reader gives up. Default 10, about a minute. */
  maxReconnects?: number;
};

const MAX_RECONNECTS = 10;

/** Opens the stream after the cursor. */
const opener =
  (transport: Transport, path: string, cursor: string | null, onConnect: FollowOptions["onConnect"]) =>
  async (signal: AbortSignal): Promise<Response> => {
    // A browser's own fetch refuses to be called as a method.
    const { fetch, renewable } = transport;
    const open = async (renew: boolean): Promise<Response> => {
      const { url, headers } = await transport.reach(renew);
      const after = cursor === null ? {} : { [HEADERS.lastEventId]: cursor };
      return fetch(url + path, { headers: { ...headers, accept: "text/event-stream", ...after }, signal });
    };
    let response = await open(false);
    if (response.status === 401 && renewable) {
      await response.body?.cancel();
      response = await open(true);
    }
    if (response.ok) onConnect?.();
    return response;
  };

function eventError(event: StreamEvent, wireObjects: WireObjects | undefined): ApiError {
  const error = event.data as { code: string; message: string };
  return errorOf(error.code === "unavailable" ? 503 : error.code === "rate_limited" ? 429 : 500, error, {
    wireObjects,
  });
}

function passGap(event: StreamEvent, onGap: FollowOptions["onGap"]): void {
  const earliest = (event.data as { earliest_cursor?: string | null }).earliest_cursor ?? null;
  if (onGap !== undefined) return onGap(earliest);
  const message = "The entries after the cursor were deleted";
  const details = { earliestCursor: earliest };
  throw new ConflictError({ code: "cursor_expired", message, status: 410, details });
}

function lost(path: string, failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  const detail = failure instanceof Error ? failure.message : String(failure);
  const message = `Lost the stream ${path}: ${detail}`;
  return new ConnectionError({ code: "connection_error", message, cause: failure });
}

/**
 * Follows a server-sent stream across disconnects, each event once and in order, until the server says `end`
 * (yielded last, with the final state as its data). Throws what the server refuses with, a ConnectionError when it
 * stays unreachable, and the signal's reason when it is aborted.
 */
export async function* followStream(
  transport: Transport,
  path: string,
  options: FollowOptions = {},
): AsyncGenerator<StreamEvent> {
  const { signal, onGap, onConnect, onReconnect, maxReconnects = MAX_RECONNECTS } = options;
  const { wireObjects } = transport.config;
  let cursor = options.cursor ?? null;
  for (let fruitless = 1; ; fruitless += 1) {
    let failure: unknown = new Error("the stream was closed before its end");
    try {
      for await (const event of readEvents(opener(transport, path, cursor, onConnect), signal, wireObjects)) {
        fruitless = 1;
        if (event.event === "error") throw eventError(event, wireObjects);
        if (event.event === "gap") {
          passGap(event, onGap);
          continue;
        }
        if (event.id !== "") cursor = event.id;
        yield event;
        if (event.event === "end") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      // A 500 may be the passing trouble of one replica; every other refusal would be the same again.
      if (error instanceof ApiError && error.status !== 500 && !mayRepeat(error, true)) throw error;
      failure = error;
    }
    if (fruitless >= maxReconnects) throw lost(path, failure);
    onReconnect?.(failure);
    await sleep(backoffMs(fruitless, failure instanceof ApiError ? failure.retryAfterMs : null), signal);
  }
}
