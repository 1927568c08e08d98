// Server-sent events as a test reads them.

import assert from "node:assert/strict";
import type { ApiServer } from "./api-server.ts";

export interface ServerSentEvent {
  id: string;
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  data: any;
}

export interface ReadOptions {
  readonly as?: string;
  readonly headers?: Record<string, string>;
  /** Hangs up after the first event that fits. Without it everything is read up to `end`. */
  readonly until?: (event: ServerSentEvent) => boolean;
}

/** Follows a stream. @returns the events, the last one being `end` or what `until` waited for. */
export async function readEvents(
  server: ApiServer,
  path: string,
  options: ReadOptions = {},
): Promise<ServerSentEvent[]> {
  const response = await fetch(server.url + path, {
    headers: { authorization: `Bearer ${options.as ?? server.credentials.api_key}`, ...options.headers },
  });
  assert.equal(response.status, 200, `${path} answered ${response.status}`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream(;|$)/);
  const events: ServerSentEvent[] = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = parseFrame(text.slice(0, end));
      text = text.slice(end + 2);
      if (event === null) continue;
      events.push(event);
      // Leaving the loop hangs up.
      if (options.until?.(event) === true) return events;
    }
  }
  return events;
}

/** Null for a comment and for the frame that says when to reconnect. */
function parseFrame(frame: string): ServerSentEvent | null {
  const fields = new Map(
    frame
      .split("\n")
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const data = fields.get("data");
  if (data === undefined) return null;
  return { id: fields.get("id") ?? "", event: fields.get("event") ?? "", data: JSON.parse(data) as unknown };
}
