/** Server-sent events as every stream of the API writes them. Source: the HTML standard, section 9.2. */

export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
} as const;

/** Sent first: how long a client waits before it reconnects. */
export const SSE_RETRY_FRAME = "retry: 1000\n\n";

/** A comment that keeps the connection from being taken for dead. */
export const SSE_KEEPALIVE_FRAME = ": keep-alive\n\n";

export const SSE_KEEPALIVE_INTERVAL_MS = 15_000;

/** One event; `json` is JSON on a single line. */
export const sseFrame = (event: string, id: string, json: string): string =>
  `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;
