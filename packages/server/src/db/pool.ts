// The pool of connections, and `Database`, which everything above takes.

import pg from "pg";
import { type Queryable, toQuery, type Tx } from "./queryable.ts";
import { rowTypes } from "./row-types.ts";
import type { Sql } from "./sql.ts";
import { runTransaction, type TransactionOptions } from "./transaction.ts";

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
  /** Told when an idle connection is lost; the pool replaces it when it is next needed. */
  readonly onConnectionLost?: (error: Error) => void;
}

export interface Database extends Queryable {
  /** URL for connections that must not go through a pooler. */
  readonly directUrl: string;
  /**
   * Runs `work` in a transaction and commits. After a serialization failure or a deadlock it is run again from the start,
   * so it must have no effect outside the transaction. Nothing in it waits for the network.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /** Counts of the pool, for metrics. */
  poolCounts(): { total: number; idle: number; waiting: number };
  /** Waits for running statements and closes all connections. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;

/**
 * Every statement finds its rows by an index, one after the other. The planner's statistics of a queue table are always
 * behind, and of an array or a LIMIT parameter it knows nothing: left alone it comes to read whole tables into hash joins
 * (a claim of 100 runs was seen to read all 90,000). Planning each call anew, which PostgreSQL prefers for arrays, takes
 * longer than running the call, and JIT costs more than such statements take.
 * A pooler in transaction mode refuses start-up options; behind one they are left out.
 */
const PLANNER_OPTIONS = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "jit=off",
]
  .map((setting) => `-c ${setting}`)
  .join(" ");

export function createDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    ...(options.statementNames ? { options: PLANNER_OPTIONS } : {}),
    application_name: options.applicationName ?? "keelson",
    types: rowTypes,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
  });
  let closing: Promise<void> | undefined;
  // Without a listener a lost idle connection would end the process. While closing, connections are meant to go.
  pool.on("error", (error) => {
    if (closing === undefined) options.onConnectionLost?.(error);
  });

  return {
    directUrl: options.directUrl ?? options.url,
    async query<Row extends object>(statement: Sql): Promise<Row[]> {
      const { rows } = await pool.query<Row>(toQuery(statement, options.statementNames));
      return rows;
    },
    transaction: (work, transactionOptions = {}) =>
      runTransaction(pool, options.statementNames, work, transactionOptions),
    poolCounts: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => (closing ??= pool.end()),
  };
}
