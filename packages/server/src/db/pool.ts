// The pool of connections, and `Database`, which everything above takes.

import type pg from "pg";
import type { NotedFact } from "../noted-fact.ts";
import { ask } from "./ask.ts";
import { whileAlone, type StillAlone } from "./while-alone.ts";
import { createCommitWatch } from "./commit-watch.ts";
import { isSilence } from "./connection-error.ts";
import { createConnections } from "./connections.ts";
import { runAgain } from "./run-again.ts";
import { isChange, type Queryable, type Teller, toQuery, type Tx } from "./queryable.ts";
import {
  MAINTENANCE_LIMIT_MS,
  makeTransactionOurs,
  REQUEST_LIMITS,
  type SessionLimits,
  startupOptions,
} from "./session-settings.ts";
import type { Sql } from "./sql.ts";
import { createCheckedPlaces, UNCHECKED_PLACES } from "./transaction-places.ts";
import { runTransaction, takeFor, type TransactionContext, type TransactionOptions } from "./transaction.ts";

export interface DatabaseOptions {
  /** URL of PostgreSQL, maybe through a pooler. */
  readonly url: string;
  /** URL that bypasses a pooler, for LISTEN and migrations. Default: `url`. */
  readonly directUrl?: string;
  /** Most connections at once. */
  readonly poolSize: number;
  /** Whether statements are prepared under names; off behind a pooler that does not know prepared statements. */
  readonly statementNames: boolean;
  /** Shown in pg_stat_activity. Default `keelson`. */
  readonly applicationName?: string;
  /** Default: those of requests. */
  readonly limits?: SessionLimits;
  /** Whether a transaction that asks for a second connection fails instead of waiting for it. For tests. */
  readonly refuseSecondConnection?: boolean;
  /**
   * Told of each key that a transaction woke, and up to which cursor there is something new, once it is durable. It must not throw.
   * Default: nobody listens.
   */
  readonly wake?: (key: string, upTo: number) => void;
  /** Told of each fact that a transaction noted, once this is durable. It must not throw. Default: nobody listens. */
  readonly note?: (fact: NotedFact) => void;
  /** Told how long a caller waited for a connection, in milliseconds. Default: nobody listens. */
  readonly noteWaited?: (waitedMs: number) => void;
  /** Told when an idle connection is lost; the pool replaces it when it is next needed. */
  readonly onConnectionLost?: (error: Error) => void;
  /** Told when PostgreSQL confirms no commit any more, and when it does again. Default: nobody listens. */
  readonly onCommitsHang?: (isHanging: boolean) => void;
}

export interface Database extends Queryable {
  /** URL for connections that must not go through a pooler. */
  readonly directUrl: string;
  /** Tells at once: of what a statement has changed that was a transaction by itself. */
  readonly told: Teller;
  /**
   * Runs `work` in a transaction and commits. After a serialization failure or a deadlock it is run again from the start,
   * so it must have no effect outside the transaction. Nothing in it waits for the network.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /**
   * Runs `work` while no other server holds the lock; null while one does. Unlike a transaction it may wait for the network.
   * The lock ends with a connection of its own, never by time.
   */
  alone<Result>(lock: number, work: (stillAlone: StillAlone) => Promise<Result>): Promise<Result | null>;
  /** Runs a statement that goes over a whole table, and may not be in a transaction: VACUUM. */
  maintain(statement: Sql): Promise<void>;
  /** Counts of the pool, for metrics. */
  poolCounts(): { total: number; idle: number; waiting: number };
  /** How long the caller that waits longest has waited for a connection; 0 when nobody waits. */
  longestWaitMs(): number;
  /** Whether PostgreSQL confirms no commit, so that writes are refused: the standby that it waits for may be gone. */
  commitsHang(): boolean;
  /** PostgreSQL fell silent, or a connection to it did: those that are idle now are not used again. */
  connectionsAreSuspect(): void;
  /** PostgreSQL is heard again after it was silent: connections that stay silent are ended. */
  isHeardAgain(): void;
  /** Waits for running statements and closes all connections. */
  close(): Promise<void>;
}

/** Whether statements of one caller may run on different sessions. */
export const isBehindPooler = ({
  url,
  directUrl = url,
  statementNames,
}: Pick<DatabaseOptions, "url" | "directUrl" | "statementNames">): boolean =>
  !statementNames || directUrl !== url;

export function createDatabase(options: DatabaseOptions): Database {
  const { statementNames, limits = REQUEST_LIMITS } = options;
  const isPooled = isBehindPooler(options);
  const places = options.refuseSecondConnection === true ? createCheckedPlaces() : UNCHECKED_PLACES;
  const connections = createConnections({
    url: options.url,
    poolSize: options.poolSize,
    isPooled,
    startupOptions: isPooled ? null : startupOptions(limits),
    applicationName: options.applicationName ?? "keelson",
    limits,
    noteWaited: options.noteWaited ?? (() => undefined),
    onConnectionLost: (error) => options.onConnectionLost?.(error),
  });
  const { wake = () => undefined, note = () => undefined } = options;
  const commits = createCommitWatch({
    url: options.directUrl ?? options.url,
    answerMs: limits.answerMs,
    onChange: (isHanging) => options.onCommitsHang?.(isHanging),
  });
  const context = { connections, commits, statementNames, isPooled, limits, places, wake, note };
  const queryOnce = createQuery(context);

  return {
    directUrl: options.directUrl ?? options.url,
    told: { note, wake: (key, upTo = Number.POSITIVE_INFINITY) => wake(key, upTo) },
    query<Row extends object>(statement: Sql): Promise<Row[]> {
      // A role's own isolation holds where a pooler keeps ours away, and a standby cancels reads that are in its way.
      return runAgain(() => queryOnce<Row>(statement));
    },
    maintain: async (statement) => {
      places.refuseInside();
      const { client, giveBack } = await connections.take("read");
      let failure: Error | undefined;
      try {
        const set = (text: string) => ask(client, text, limits.answerMs);
        if (!isPooled) await set(`SET statement_timeout = ${MAINTENANCE_LIMIT_MS}`);
        await ask(client, toQuery(statement, statementNames), MAINTENANCE_LIMIT_MS);
        if (!isPooled) await set("RESET statement_timeout");
      } catch (error) {
        // Not used again: its limit is not that of the others.
        failure = new Error("A connection with another limit", { cause: error });
        throw error;
      } finally {
        giveBack(failure);
      }
    },
    transaction: async (work, transactionOptions = {}) => {
      places.refuseInside();
      return runTransaction(context, work, transactionOptions);
    },
    alone: (lock, work) => whileAlone(options.directUrl ?? options.url, lock, work),
    poolCounts: connections.counts,
    longestWaitMs: connections.longestWaitMs,
    connectionsAreSuspect: connections.distrust,
    isHeardAgain: connections.endSilent,
    commitsHang: commits.isHanging,
    close: () => {
      commits.close();
      return connections.close();
    },
  };
}

/** Runs a statement in a session that is free. */
function createQuery(context: TransactionContext) {
  const { commits, statementNames, isPooled, limits, places } = context;
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${makeTransactionOurs(limits.statementMs)}`;
  return async <Row extends object>(statement: Sql): Promise<Row[]> => {
    places.refuseInside();
    const purpose = isChange(statement) ? "write" : "read";
    const { client, giveBack, firstAnswerMs } = await takeFor(purpose, context);
    let failure: Error | undefined;
    try {
      const query = toQuery(statement, statementNames);
      const { rows } =
        isPooled && purpose === "write"
          ? await inOneFlight<Row>(client, { begin, query, firstAnswerMs, answerMs: limits.answerMs })
          : await ask<Row>(client, query, firstAnswerMs);
      return rows;
    } catch (error) {
      failure = error as Error;
      if (purpose === "write" && isSilence(error)) commits.suspect();
      throw error;
    } finally {
      giveBack(failure);
    }
  };
}

/** A transaction of one statement, sent at once: behind a pooler it is the only way to set what the statement runs under. */
async function inOneFlight<Row extends object>(
  client: pg.PoolClient,
  {
    begin,
    query,
    firstAnswerMs,
    answerMs,
  }: { begin: string; query: pg.QueryConfig; firstAnswerMs: number; answerMs: number },
): Promise<pg.QueryResult<Row>> {
  const [begun, done, committed] = await Promise.allSettled([
    ask(client, begin, answerMs),
    ask<Row>(client, query, firstAnswerMs),
    ask(client, "COMMIT", answerMs),
  ]);
  for (const outcome of [begun, done, committed]) if (outcome.status === "rejected") throw outcome.reason;
  return (done as PromiseFulfilledResult<pg.QueryResult<Row>>).value;
}
