import { once } from "node:events";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import {
  SSE_HEADERS,
  SSE_KEEPALIVE_FRAME,
  SSE_KEEPALIVE_INTERVAL_MS,
  SSE_RETRY_FRAME,
} from "@keelson/contract";
import type { FairTurns } from "./fair-turns.ts";
import { toErrorReply } from "./error-reply.ts";

/**
 * Server-sent events. Frames go straight to the socket, and the source is asked for more only when the socket has taken
 * what it was given: a slow reader holds one batch and the socket's buffer, however much is waiting for it.
 */
export type EventStreams = {
  /** Writes the stream until the source ends, the reader goes away or the signal aborts. Never rejects. */
  send(stream: EventStream): Promise<void>;
  /** How many are open. */
  count(): number;
  /** Stops the keep-alive. */
  close(): void;
};

/** One or more frames as they go out: text, or bytes that readers of the same place share. */
export type Frames = string | Uint8Array;

export type EventStream = {
  response: ServerResponse;
  /** Headers besides those of an event stream. */
  headers: OutgoingHttpHeaders;
  frames: AsyncIterable<Frames>;
  /** Whose it is; null: of no environment. */
  environmentId: string | null;
  signal: AbortSignal;
  requestId: string;
  onError: (error: unknown) => void;
};

/** In shares of a turn: a frame of this size costs as much as a small request. */
const COST_BYTES = 16_384;

type State = { wroteLately: boolean };

export function createEventStreams(turns: FairTurns): EventStreams {
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
        await write(stream, state, turns);
      } finally {
        open.delete(stream.response);
      }
    },
    count: () => open.size,
    close: () => clearInterval(timer),
  };
}

async function write(
  { response, headers, frames, environmentId, signal, requestId, onError }: EventStream,
  state: State,
  turns: FairTurns,
): Promise<void> {
  response.writeHead(200, { ...headers, ...SSE_HEADERS });
  response.write(SSE_RETRY_FRAME);
  try {
    for await (const frame of frames) {
      if (signal.aborted) break;
      const turn =
        environmentId === null ? undefined : turns.enter(environmentId, 1 + frame.length / COST_BYTES);
      if (turn !== undefined) await turn;
      state.wroteLately = true;
      if (!response.write(frame)) await drained(response, signal);
    }
  } catch (error) {
    if (!signal.aborted) {
      onError(error);
      // Without an id, so that the reader goes on from the last event it has.
      response.write(`event: error\ndata: ${JSON.stringify(toErrorReply(error, requestId).body.error)}\n\n`);
    }
  }
  // Ended, never destroyed: what was written last is still on its way.
  response.end();
}

async function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!response.writableNeedDrain) return;
  try {
    await once(response, "drain", { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
