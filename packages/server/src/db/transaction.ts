// Runs a function in a transaction.

import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { toQuery, type Tx } from "./queryable.ts";
import type { Sql } from "./sql.ts";

export interface TransactionOptions {
  /**
   * `full` (default): the commit is on disk before it is answered. `relaxed`: a crash of the machine or of PostgreSQL
   * may lose the last few hundred milliseconds of commits, never part of one; for what nobody has been promised.
   */
  readonly durability?: "full" | "relaxed";
  /** Default `read committed`. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  readonly readOnly?: boolean;
}

const MAX_ATTEMPTS = 6;
const BACKOFF_BASE_MS = 4;
// serialization_failure and deadlock_detected: PostgreSQL rolled back, and the same work can succeed.
const RETRIED_STATES = new Set(["40001", "40P01"]);

export async function runTransaction<Result>(
  pool: pg.Pool,
  statementNames: boolean,
  work: (tx: Tx) => Promise<Result>,
  options: TransactionOptions,
): Promise<Result> {
  const begin = beginText(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(pool, statementNames, begin, work);
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isRetried(error)) throw error;
      await sleep(randomInt(1, BACKOFF_BASE_MS * 2 ** attempt));
    }
  }
}

async function runOnce<Result>(
  pool: pg.Pool,
  statementNames: boolean,
  begin: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // While a client is checked out the pool does not listen to it; a lost connection also fails the running statement.
  let lost: Error | undefined;
  const onError = (error: Error): void => {
    lost = error;
  };
  client.on("error", onError);
  let open = true;
  const tx: Tx = {
    isTransaction: true,
    async query<Row extends object>(statement: Sql): Promise<Row[]> {
      if (!open)
        throw new Error(
          "A statement was run in a transaction that has ended: a promise in it was not awaited.",
        );
      const { rows } = await client.query<Row>(toQuery(statement, statementNames));
      return rows;
    },
  };
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(tx);
    open = false;
    const { command } = await client.query("COMMIT");
    // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, without an error.
    if (command !== "COMMIT")
      throw new Error(
        "The transaction was rolled back: a statement in it failed and its error was not passed on.",
      );
    return result;
  } catch (error) {
    open = false;
    // A connection that cannot roll back is not given to anybody else.
    broken =
      lost ??
      (await client.query("ROLLBACK").then(
        () => undefined,
        (failure: Error) => failure,
      ));
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken ?? lost);
  }
}

function beginText(options: TransactionOptions): string {
  let text = "BEGIN";
  if (options.isolation !== undefined) text += ` ISOLATION LEVEL ${options.isolation.toUpperCase()}`;
  if (options.readOnly === true) text += " READ ONLY";
  // One message, so that it costs no round trip.
  if (options.durability === "relaxed") text += "; SET LOCAL synchronous_commit = off";
  return text;
}

function isRetried(error: unknown): boolean {
  for (let link = error; link instanceof Error; link = link.cause) {
    const { code } = link as { code?: unknown };
    if (typeof code === "string" && RETRIED_STATES.has(code)) return true;
  }
  return false;
}
