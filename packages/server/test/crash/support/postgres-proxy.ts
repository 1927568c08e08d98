// A way to PostgreSQL that knows where a statement ends: it can stop the world before one is sent, or after it was carried
// out and before anybody learned of it.

import type { Socket } from "node:net";
import {
  createSplitter,
  createStatementReader,
  isReady,
  placeOf,
  type SentStatement,
} from "./postgres-messages.ts";
import { startSocketRelay } from "./socket-relay.ts";

export interface Breakpoint {
  readonly side: "before" | "after";
  readonly matches: (statement: SentStatement) => boolean;
}

export interface PostgresProxy {
  /** What the server is given as its database. */
  readonly url: string;
  /**
   * Stops at the first statement that matches: it is held back, or its answer is. Resolves then; all connections stay as
   * they are until `cut`. Arming again forgets an earlier breakpoint, and null only that.
   */
  arm(breakpoint: Breakpoint | null): Promise<SentStatement>;
  /**
   * From now on no byte is passed on, and nobody is told: connections stay open, and new ones are accepted. As a network
   * that drops packets does.
   */
  silence(): void;
  /** Connections that are made from now on are passed on again; those that were silenced stay so, as after a failover. */
  heal(): void;
  /** Ends all connections. */
  cut(): void;
  close(): Promise<void>;
}

/** What all connections share: the breakpoint, and whether it was reached. */
type Gate = {
  isStopped: boolean;
  /** New connections belong to it; those of an earlier one are passed on as long as it was not silenced. */
  network: { isSilent: boolean };
  /** Whether to stop here. */
  reaches(side: Breakpoint["side"], statement: SentStatement): boolean;
};

/** Passes messages on between a client and PostgreSQL until the gate stops everything. */
function passMessages(client: Socket, backend: Socket, gate: Gate, prepared: Map<string, string>): void {
  const read = createStatementReader(prepared, (bytes) => backend.write(bytes));
  const splitClient = createSplitter(true);
  const splitBackend = createSplitter(false);
  /** Sent and not answered, in the order in which they will be. */
  const underWay: SentStatement[] = [];
  let isFirst = true;
  const { network } = gate;
  client.on("data", (bytes: Buffer) => {
    if (gate.isStopped || network.isSilent) return;
    for (const message of splitClient(bytes)) {
      if (isFirst) {
        isFirst = false;
        backend.write(message);
        continue;
      }
      const sent = read(message);
      if (sent === null) continue;
      if (gate.reaches("before", sent.statement)) return;
      underWay.push(sent.statement);
      backend.write(sent.bytes);
    }
  });
  backend.on("data", (bytes: Buffer) => {
    if (network.isSilent) return;
    for (const message of splitBackend(bytes)) {
      if (gate.isStopped) return;
      const done = isReady(message) ? underWay.shift() : undefined;
      if (done !== undefined && gate.reaches("after", done)) return;
      client.write(message);
    }
  });
}

export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const { socketPath, urlAt } = placeOf(databaseUrl);
  const prepared = new Map<string, string>();
  let armed: { breakpoint: Breakpoint; hit: (statement: SentStatement) => void } | null = null;
  const gate: Gate = {
    isStopped: false,
    network: { isSilent: false },
    reaches: (side, statement) => {
      if (armed === null || armed.breakpoint.side !== side || !armed.breakpoint.matches(statement))
        return false;
      const { hit } = armed;
      armed = null;
      gate.isStopped = true;
      hit(statement);
      return true;
    },
  };
  const relay = await startSocketRelay(
    () => socketPath,
    (client, backend) => passMessages(client, backend, gate, prepared),
  );
  const cut = (): void => {
    relay.cut();
    gate.isStopped = false;
  };
  return {
    url: urlAt(relay.port),
    arm: (breakpoint) =>
      new Promise((hit) => {
        armed = breakpoint === null ? null : { breakpoint, hit };
      }),
    silence: () => {
      gate.network.isSilent = true;
    },
    heal: () => {
      gate.network = { isSilent: false };
    },
    cut,
    close: () => {
      cut();
      return relay.close();
    },
  };
}
