import { createParser } from "eventsource-parser";
import type { WireObjects } from "./camel-cased.ts";
import { responseError } from "./read-response.ts";

/** A server-sent event of a stream that is followed. */
export type StreamEvent = {
  /** The cursor to go on after; empty when the event has none. */
  id: string;
  /** Its kind, such as `run_event`; `end` closes the stream. */
  event: string;
  /** The value of its JSON. */
  data: unknown;
};

/** Three keep-alive comments of the server: a connection silent for longer is taken for dead. */
const SILENCE_MS = 45_000;

/** What an answer of 400 and up says. */
export async function refusalOf(response: Response, wireObjects?: WireObjects): Promise<Error> {
  const header = (name: string): string | null => response.headers.get(name);
  const text = await response.text();
  return responseError({ status: response.status, header, text: () => text }, false, wireObjects);
}

/**
 * The events of one connection, up to its end. Throws what the server refuses with, what broke the connection, and
 * the signal's reason. A reader who leaves hangs up.
 */
export async function* readEvents(
  open: (signal: AbortSignal) => Promise<Response>,
  outer: AbortSignal | undefined,
  wireObjects?: WireObjects,
): AsyncGenerator<StreamEvent> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(outer?.reason);
  outer?.throwIfAborted();
  outer?.addEventListener("abort", onAbort, { once: true });
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Armed only while something is awaited: a slow reader is not a silent server.
  const unlessSilent = async <T>(waiting: Promise<T>): Promise<T> => {
    timer = setTimeout(
      () => controller.abort(new Error(`nothing received for ${SILENCE_MS} ms`)),
      SILENCE_MS,
    );
    try {
      return await waiting;
    } finally {
      clearTimeout(timer);
    }
  };
  try {
    const response = await unlessSilent(open(controller.signal));
    if (!response.ok || response.body === null) throw await refusalOf(response, wireObjects);
    const events: StreamEvent[] = [];
    const parser = createParser({
      onEvent: ({ id, event, data }) =>
        events.push({ id: id ?? "", event: event ?? "message", data: JSON.parse(data) as unknown }),
    });
    const decoder = new TextDecoder();
    // Not `for await`: not every browser can iterate over a body.
    const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
    for (;;) {
      const { done, value } = await unlessSilent(reader.read());
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", onAbort);
    controller.abort();
  }
}
