// Hears NOTIFY. One connection, past any pooler, is kept for it and made again for ever when it is lost.
//
// What is notified while the connection is down is gone, so `onGap` is called after each reconnection, and readers look
// into the tables. A notification is a hint to look, never the news itself.

import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { quoteIdentifier } from "./sql.ts";

export interface ListenerOptions {
  /** URL past any pooler. */
  readonly url: string;
  readonly channels: readonly string[];
  /** Called for each notification, in order. Must not throw. */
  readonly onNotification: (channel: string, payload: string) => void;
  /** Called when the connection is back after a loss: notifications may have been missed. Must not throw. */
  readonly onGap: () => void;
  /** Told why the connection was lost or cannot be made. */
  readonly onConnectionLost?: (error: Error) => void;
}

export interface Listener {
  /** Resolves when the channels are heard for the first time. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

const BACKOFF_MS = [20, 50, 100, 250, 500, 1_000, 2_000, 5_000];
const CONNECT_TIMEOUT_MS = 10_000;
// A connection cut without a word (a failover, a firewall) looks alive: it is asked now and then.
const PING_INTERVAL_MS = 15_000;
const PING_TIMEOUT_MS = 10_000;

export function createListener(options: ListenerOptions): Listener {
  const closed = new AbortController();
  const firstHeard = Promise.withResolvers<void>();
  const loop = keepListening(options, closed.signal, firstHeard.resolve);
  return {
    ready: firstHeard.promise,
    async close() {
      closed.abort();
      await loop;
      firstHeard.resolve(); // Nobody waits for ever for a listener that was closed before it heard anything.
    },
  };
}

async function keepListening(
  options: ListenerOptions,
  signal: AbortSignal,
  onHeard: () => void,
): Promise<void> {
  let failures = 0;
  let heardBefore = false;
  while (!signal.aborted) {
    try {
      await listenOnce(options, signal, () => {
        failures = 0;
        if (heardBefore) options.onGap();
        heardBefore = true;
        onHeard();
      });
    } catch (error) {
      options.onConnectionLost?.(error as Error);
    }
    if (signal.aborted) return;
    const backoffMs = BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)] ?? 0;
    // Jitter: all replicas lose the same server at the same instant.
    await sleep(randomInt(Math.ceil(backoffMs / 2), backoffMs + 1), undefined, { signal }).catch(
      () => undefined,
    );
  }
}

/** Hears until the connection is lost (rejects) or `signal` aborts (resolves). */
async function listenOnce(
  options: ListenerOptions,
  signal: AbortSignal,
  onHearing: () => void,
): Promise<void> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: "keelson listen",
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: PING_TIMEOUT_MS,
  });
  const over = Promise.withResolvers<void>();
  over.promise.catch(() => undefined); // It may reject before it is awaited.
  client.on("error", over.reject);
  client.on("end", () => over.reject(new Error("Connection ended")));
  client.on("notification", ({ channel, payload }) => options.onNotification(channel, payload ?? ""));
  const stop = (): void => over.resolve();
  signal.addEventListener("abort", stop, { once: true });
  let ping: NodeJS.Timeout | undefined;
  try {
    await Promise.race([client.connect(), over.promise]);
    if (signal.aborted) return;
    await client.query(options.channels.map((channel) => `LISTEN ${quoteIdentifier(channel)}`).join("; "));
    onHearing();
    ping = setInterval(() => void client.query("SELECT 1").catch(over.reject), PING_INTERVAL_MS);
    await over.promise;
  } finally {
    clearInterval(ping);
    signal.removeEventListener("abort", stop);
    // end() waits for an answer that a dead connection never gives; the socket is closed by the server's or by ours.
    await Promise.race([client.end().catch(() => undefined), sleep(1_000, undefined, { ref: false })]);
  }
}
