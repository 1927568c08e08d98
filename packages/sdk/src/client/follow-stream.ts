import { HEADERS } from "@keelson/contract/plain";
import { createParser } from "eventsource-parser";
import { sleep } from "./clock.ts";
import { ConflictError, ConnectionError, errorOf, KeelsonError } from "./errors.ts";
import { responseError } from "./read-response.ts";
import { backoffMs, mayRepeat } from "./retry.ts";
import type { Transport } from "./transport.ts";

export type StreamEvent = { id: string; event: string; data: unknown };

export type FollowOptions = {
  /** What comes after this cursor; absent: from the beginning. */
  cursor?: string;
  signal?: AbortSignal;
  /** The asked-for cursor is older than what is kept. Called with where the stream goes on; without it the stream ends with `cursor_expired`. */
  onGap?: (earliestCursor: string | null) => void;
};

/** Three keep-alive comments of the server: a connection silent for longer is taken for dead. */
const SILENCE_MS = 45_000;
/** Reconnections in a row that brought nothing, about a minute, before the follower gives up. */
const MAX_FRUITLESS = 10;

async function* readEvents(
  transport: Transport,
  path: string,
  cursor: string | null,
  outer: AbortSignal | undefined,
): AsyncGenerator<StreamEvent> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(outer?.reason);
  outer?.addEventListener("abort", onAbort, { once: true });
  const silence = setTimeout(
    () => controller.abort(new Error(`nothing received for ${SILENCE_MS} ms`)),
    SILENCE_MS,
  );
  try {
    outer?.throwIfAborted();
    const headers: Record<string, string> = { ...transport.headers(), accept: "text/event-stream" };
    if (cursor !== null) headers[HEADERS.lastEventId] = cursor;
    const response = await transport.fetch(`${transport.config.url}${path}`, {
      headers,
      signal: controller.signal,
    });
    if (!response.ok || response.body === null) {
      const answer = {
        status: response.status,
        header: (name: string) => response.headers.get(name),
        text: await response.text(),
      };
      throw responseError(answer, false);
    }
    const events: StreamEvent[] = [];
    const parser = createParser({
      onEvent: ({ id, event, data }) =>
        events.push({ id: id ?? "", event: event ?? "message", data: JSON.parse(data) as unknown }),
    });
    const decoder = new TextDecoder();
    for await (const bytes of response.body as AsyncIterable<Uint8Array<ArrayBuffer>>) {
      silence.refresh();
      parser.feed(decoder.decode(bytes, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    clearTimeout(silence);
    outer?.removeEventListener("abort", onAbort);
    controller.abort();
  }
}

/**
 * Follows a server-sent stream across disconnects, each event once and in order, until the server says `end`
 * (yielded last, with the final state as its data). Throws what the server refuses with, a ConnectionError when it
 * stays unreachable for about a minute, and the signal's reason when it is aborted.
 */
export async function* followStream(
  transport: Transport,
  path: string,
  options: FollowOptions = {},
  maxFruitless: number = MAX_FRUITLESS,
): AsyncGenerator<StreamEvent> {
  const { signal, onGap } = options;
  let cursor = options.cursor ?? null;
  for (let fruitless = 1; ; fruitless += 1) {
    let failure: unknown = new Error("the stream was closed before its end");
    try {
      for await (const event of readEvents(transport, path, cursor, signal)) {
        fruitless = 1;
        if (event.event === "error") {
          const error = event.data as { code: string; message: string };
          throw errorOf(
            error.code === "unavailable" ? 503 : error.code === "rate_limited" ? 429 : 500,
            error,
          );
        }
        if (event.event === "gap") {
          const earliest = (event.data as { earliest_cursor?: string | null }).earliest_cursor ?? null;
          if (onGap === undefined) {
            const message = "What comes after the cursor is no longer kept";
            throw new ConflictError({
              code: "cursor_expired",
              message,
              status: 410,
              details: { earliest_cursor: earliest },
            });
          }
          onGap(earliest);
          continue;
        }
        if (event.id !== "") cursor = event.id;
        yield event;
        if (event.event === "end") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      // A 500 may be the passing trouble of one replica; every other refusal would be the same again.
      if (error instanceof KeelsonError && error.status !== 500 && !mayRepeat(error, true)) throw error;
      failure = error;
    }
    if (fruitless >= maxFruitless) {
      if (failure instanceof KeelsonError) throw failure;
      const detail = failure instanceof Error ? failure.message : String(failure);
      throw new ConnectionError({
        code: "connection_error",
        message: `Lost the stream ${path}: ${detail}`,
        cause: failure,
      });
    }
    await sleep(backoffMs(fruitless, failure instanceof KeelsonError ? failure.retryAfterMs : null), signal);
  }
}
