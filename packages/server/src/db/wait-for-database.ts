// Waits for a PostgreSQL that is not there yet: machines start their services in any order.

import { setTimeout as sleep } from "node:timers/promises";
import { isConnectionError } from "./connection-error.ts";
import { nameFailure } from "./name-failure.ts";
import { createSession, connectSession, sever } from "./open-session.ts";

export interface DatabaseWait {
  /** How long it is waited for; 0 tries once. */
  readonly forMs: number;
  /** Told at first and every few seconds what is waited for, and why. */
  readonly onWaiting: (wait: { address: string; reason: string; waitedMs: number }) => void;
  /** Ends the waiting; its reason is thrown. */
  readonly signal?: AbortSignal;
}

const RETRY_MS = 500;
const TELL_MS = 5_000;
const CONNECT_MS = 5_000;

/** @throws Error of one line that says what to do, when the reason does not pass by waiting, or lasts for longer. */
export async function waitForDatabase(
  url: string,
  { forMs, onWaiting, signal }: DatabaseWait,
): Promise<void> {
  const begun = performance.now();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const client = createSession({ url, applicationName: "keelson", connectMs: CONNECT_MS });
    client.on("error", () => undefined);
    try {
      await connectSession(client);
      await client.end();
      return;
    } catch (error) {
      sever(client);
      const now = performance.now();
      if (!mayPass(error) || now - begun >= forMs) throw nameFailure(error, url);
      if (now - toldAt >= TELL_MS) {
        toldAt = now;
        const address = client.host.startsWith("/") ? client.host : `${client.host}:${client.port}`;
        onWaiting({ address, reason: reasonOf(error), waitedMs: Math.round(now - begun) });
      }
    }
    signal?.throwIfAborted();
    await sleep(RETRY_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/** Refused, starting up, not yet in the DNS. A wrong password or name stays wrong; so does what a pooler does not know. */
function mayPass(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return isConnectionError(error) && code !== "08P01" && code !== "EACCES";
}

/** All addresses of a host are tried; each refusal says the same. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "")
    return error.errors.map((one: unknown) => (one as Error).message).join("; ");
  return (error as Error).message;
}
