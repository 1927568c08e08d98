// A way to PostgreSQL that is long, and that tells what went over it: which statements waited for which.

import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createSplitter, createStatementReader, isReady, placeOf } from "./postgres-messages.ts";
import { startSocketRelay } from "./socket-relay.ts";

/** What one connection sent before it was answered: one round trip, however many statements it is. */
export interface Flight {
  readonly texts: readonly string[];
  /** Places in the order of everything that was sent and answered. */
  readonly sent: number;
  /** Infinity while it is under way. */
  readonly answered: number;
}

export interface DistantPostgres {
  /** What the server is given as its database. */
  readonly url: string;
  /** How long a round trip takes from now on. 0 at first: a server makes its tables over it. */
  setDistance(ms: number): void;
  /** Runs `work` and gives what went over the way meanwhile. */
  flightsOf(work: () => Promise<void>): Promise<Flight[]>;
  close(): Promise<void>;
}

type NotedFlight = { texts: string[]; sent: number; answered: number };

/** What all connections share. */
type Way = { distanceMs: number; place: number; noted: NotedFlight[]; prepared: Map<string, string> };

/** Passes messages on between a client and PostgreSQL, those of the client late, and notes the flights. */
function passMessages(client: Socket, backend: Socket, way: Way): void {
  // One after the other, also when the distance changes.
  let last = Promise.resolve();
  const send = (bytes: Buffer): void => {
    const arrives = way.distanceMs === 0 ? Promise.resolve() : sleep(way.distanceMs);
    last = last.then(() => arrives).then(() => void backend.write(bytes));
  };
  const read = createStatementReader(way.prepared, send);
  const splitClient = createSplitter(true);
  const splitBackend = createSplitter(false);
  let isFirst = true;
  let underWay = 0;
  let flight: NotedFlight = { texts: [], sent: 0, answered: 0 };
  client.on("data", (bytes: Buffer) => {
    for (const message of splitClient(bytes)) {
      const sent = isFirst ? { bytes: message, statement: null } : read(message);
      isFirst = false;
      if (sent === null) continue;
      if (sent.statement !== null) {
        if (underWay === 0) {
          way.place += 1;
          flight = { texts: [], sent: way.place, answered: Number.POSITIVE_INFINITY };
          way.noted.push(flight);
        }
        flight.texts.push(sent.statement.text);
        underWay += 1;
      }
      send(sent.bytes);
    }
  });
  backend.on("data", (bytes: Buffer) => {
    for (const message of splitBackend(bytes)) {
      // The first says that the connection is made.
      if (!isReady(message) || underWay === 0) continue;
      underWay -= 1;
      if (underWay > 0) continue;
      way.place += 1;
      flight.answered = way.place;
    }
    client.write(bytes);
  });
}

/** For one server or for several. */
export async function startDistantPostgres(databaseUrl: string): Promise<DistantPostgres> {
  const { socketPath, urlAt } = placeOf(databaseUrl);
  const way: Way = { distanceMs: 0, place: 0, noted: [], prepared: new Map() };
  const relay = await startSocketRelay(
    () => socketPath,
    (client, backend) => passMessages(client, backend, way),
  );
  return {
    url: urlAt(relay.port),
    setDistance: (ms) => {
      way.distanceMs = ms;
    },
    flightsOf: async (work) => {
      way.noted = [];
      await work();
      return way.noted.map((flight) => ({ ...flight }));
    },
    close: relay.close,
  };
}

/**
 * The most round trips of which each was sent after the one before was answered. What waits for nothing of them goes beside
 * them, and as all are equally long, it makes the chain no longer than the longest that does.
 */
export function longestChain(flights: readonly Flight[]): Flight[] {
  const chain: Flight[] = [];
  // From the last one back: what was answered just before is what it waited for, as a rule.
  for (const flight of [...flights].sort((a, b) => b.sent - a.sent))
    if (flight.answered < (chain.at(-1)?.sent ?? Number.POSITIVE_INFINITY)) chain.push(flight);
  return chain.reverse();
}
