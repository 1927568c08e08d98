// Hears NOTIFY. One connection, past any pooler, is kept for it and made again for ever when it is lost.
//
// What is notified while the connection is down is gone, so `onGap` is called after each reconnection, and readers look
// into the tables. A notification is a hint to look, never the news itself.

import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { READ_TIME, type Reading, type TimeRow } from "./read-time.ts";
import { connectSession, createSession, sever } from "./open-session.ts";
import { quoteIdentifier } from "./sql.ts";

export interface ListenerOptions {
  /** URL past any pooler. */
  readonly url: string;
  readonly channels: readonly string[];
  /** Called for each notification, in order. Must not throw. */
  readonly onNotification: (channel: string, payload: string) => void;
  /** Called when the connection is back after a loss: notifications may have been missed. Must not throw. */
  readonly onGap: () => void;
  /**
   * Told how many listen on this database, with this one, each time that PostgreSQL is asked whether it lives; 0 when that cannot be
   * seen. Who begins afterwards and notifies is heard after this. Must not throw.
   */
  readonly onListeners?: (count: number) => void;
  /** Told what time PostgreSQL has, each time that it is asked whether it lives. Must not throw. */
  readonly onTime?: (reading: Reading) => void;
  /** Told why the connection was lost, or cannot be made again. */
  readonly onConnectionLost?: (error: Error, wasHearing: boolean) => void;
}

export interface Listener {
  /** Resolves when the channels are heard for the first time. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

const BACKOFF_MS = [20, 50, 100, 250, 500, 1_000];
const CONNECT_TIMEOUT_MS = 2_000;
// A connection cut without a word (a failover, a firewall) looks alive, so it is asked all the time. It speaks for the
// others too: what is known here of a silence, the pool need not find out by requests.
const PING_INTERVAL_MS = 2_000;
const PING_TIMEOUT_MS = 3_000;
const GOODBYE_MS = 1_000;

const APPLICATION_NAME = "keelson listen";
// Not by the view of it, which takes three times as long to plan.
const ASK = `${READ_TIME}, (
  SELECT count(*)::integer FROM pg_stat_get_activity(NULL)
  WHERE application_name = '${APPLICATION_NAME}' AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS listeners`;

export function createListener(options: ListenerOptions): Listener {
  const closed = new AbortController();
  const firstHeard = Promise.withResolvers<void>();
  const loop = keepListening(options, closed.signal, firstHeard.resolve);
  return {
    ready: firstHeard.promise,
    async close() {
      closed.abort();
      await loop;
      firstHeard.resolve(); // Nobody waits forever for a listener that was closed before it heard anything.
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
    let isHearing = false;
    try {
      await listenOnce(options, signal, () => {
        failures = 0;
        isHearing = true;
        if (heardBefore) options.onGap();
        heardBefore = true;
        onHeard();
      });
    } catch (error) {
      options.onConnectionLost?.(error as Error, isHearing);
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
  const client = createSession({
    url: options.url,
    applicationName: APPLICATION_NAME,
    connectMs: CONNECT_TIMEOUT_MS,
    answerMs: PING_TIMEOUT_MS,
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
    await Promise.race([connectSession(client), over.promise]);
    if (signal.aborted) return;
    await client.query(options.channels.map((channel) => `LISTEN ${quoteIdentifier(channel)}`).join("; "));
    onHearing();
    let asked: Promise<unknown> = Promise.resolve();
    const ask = (): void => {
      const pause = () => void (ping = setTimeout(ask, PING_INTERVAL_MS));
      const askedAt = performance.now();
      asked = client.query<TimeRow & { listeners: number }>(ASK).then(({ rows: [row] }) => {
        const answeredAt = performance.now();
        if (row !== undefined) {
          options.onTime?.({ askedAt, answeredAt, databaseMs: row.ms });
          options.onListeners?.(row.listeners);
        }
        pause();
      }, over.reject);
    };
    ask();
    await over.promise;
    await within(GOODBYE_MS, async () => {
      await asked;
      await client.end();
    });
  } finally {
    clearTimeout(ping);
    signal.removeEventListener("abort", stop);
    sever(client);
  }
}

/** Not for long: a dead connection never answers. */
async function within(ms: number, work: () => Promise<unknown>): Promise<void> {
  await Promise.race([work().catch(() => undefined), sleep(ms, undefined, { ref: false })]);
}
