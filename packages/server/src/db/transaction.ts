// Runs a function in a transaction.

import type pg from "pg";
import type { NotedFact } from "../noted-fact.ts";
import { ask } from "./ask.ts";
import { isSilence } from "./connection-error.ts";
import type { CommitWatch } from "./commit-watch.ts";
import type { Connections, HeldConnection, Purpose } from "./connections.ts";
import { createFlight } from "./flight.ts";
import { isChange, toQuery, type Tx } from "./queryable.ts";
import { runAgain } from "./run-again.ts";
import { makeTransactionOurs, type SessionLimits } from "./session-settings.ts";
import type { Sql } from "./sql.ts";
import type { TransactionPlaces } from "./transaction-places.ts";

export interface TransactionOptions {
  /**
   * `full` (default): the commit is on disk before it is answered. `relaxed`: a crash of the machine or of PostgreSQL
   * may lose the last few hundred milliseconds of commits, never part of one; for what nobody has been promised.
   */
  readonly durability?: "full" | "relaxed";
  /** Default `read committed`. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  readonly readOnly?: boolean;
  /** How long each of its statements may take, when that is more than a request may wait. */
  readonly limitMs?: number;
}

/** PostgreSQL is the first to give a statement up, so that its connection can be used again. */
const ANSWER_MARGIN_MS = 1_000;

/** What transactions of one database have in common. */
export interface TransactionContext {
  readonly connections: Connections;
  readonly commits: CommitWatch;
  readonly statementNames: boolean;
  readonly isPooled: boolean;
  readonly limits: SessionLimits;
  readonly places: TransactionPlaces;
  /** Told of each key that a transaction woke, and up to which cursor, after its COMMIT. */
  readonly wake: (key: string, upTo: number) => void;
  /** Told of each fact that a transaction noted, after its COMMIT. */
  readonly note: (fact: NotedFact) => void;
}

export function runTransaction<Result>(
  context: TransactionContext,
  work: (tx: Tx) => Promise<Result>,
  options: TransactionOptions,
): Promise<Result> {
  const begin = beginText(context, options);
  const answerMs =
    options.limitMs === undefined ? context.limits.answerMs : options.limitMs + ANSWER_MARGIN_MS;
  const { readOnly = false, durability = "full" } = options;
  const purpose = readOnly || durability === "relaxed" ? "read" : "write";
  return runAgain(() => runOnce(context, { begin, work, answerMs, purpose }));
}

/** @throws CommitsHangError before and after waiting for a connection: those that write are given back as their commits hang. */
export async function takeFor(
  purpose: Purpose,
  { connections, commits }: Pick<TransactionContext, "connections" | "commits">,
): Promise<HeldConnection> {
  if (purpose === "read") return connections.take(purpose);
  await commits.check();
  const connection = await connections.take(purpose);
  try {
    const verdict = commits.check();
    if (verdict === undefined) return connection;
    const begun = performance.now();
    await verdict;
    const leftMs = connection.firstAnswerMs - (performance.now() - begun);
    return { ...connection, firstAnswerMs: Math.max(1_000, leftMs) };
  } catch (error) {
    connection.giveBack();
    throw error;
  }
}

type Work<Result> = {
  begin: string;
  work: (tx: Tx) => Promise<Result>;
  answerMs: number;
  purpose: Purpose;
};

async function runOnce<Result>(
  context: TransactionContext,
  { begin, work, answerMs, purpose }: Work<Result>,
): Promise<Result> {
  const { commits, statementNames, places, wake, note } = context;
  const connection = await takeFor(purpose, context);
  const flight = createFlight(connection.client);
  let open = true;
  let broken: Error | undefined;
  let isCommitting = false;
  let begun: Promise<unknown> | null = null;
  const wakes = new Map<string, number>();
  const facts: NotedFact[] = [];
  /** Once it may be sent. What changes something is not sent before the transaction is sure to have begun: it would be done without one. */
  const prepare = async (statement: Sql): Promise<pg.QueryConfig> => {
    if (begun !== null && isChange(statement)) await begun;
    if (!open)
      throw new Error(
        "A statement was run in a transaction that has ended: a promise in it was not awaited.",
      );
    return toQuery(statement, statementNames);
  };
  const tx: Tx = {
    isTransaction: true,
    wake: (key, upTo = Number.POSITIVE_INFINITY) => {
      wakes.set(key, Math.max(wakes.get(key) ?? 0, upTo));
    },
    note: (fact) => void facts.push(fact),
    query: async <Row extends object>(statement: Sql) =>
      (await flight.send<Row>(await prepare(statement), answerMs)).rows,
    send: async (statement) => {
      const query = await prepare(statement);
      flight.send(query, answerMs, true).catch(ignore);
    },
    last: async <Row extends object>(statement: Sql) => {
      const query = await prepare(statement);
      const rows = flight.send<Row>(query, answerMs, true).then((result) => result.rows);
      rows.catch(ignore);
      return { rows };
    },
  };
  try {
    begun = flight.send({ text: begin }, connection.firstAnswerMs, true);
    begun.then(() => (begun = null), ignore);
    const result = await places.within(() => work(tx));
    open = false;
    isCommitting = true;
    // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, and the flight with what has failed.
    await flight.send({ text: "COMMIT" }, answerMs);
    isCommitting = false;
    // Whoever is woken may look at what was noted.
    for (const fact of facts) note(fact);
    for (const [key, upTo] of wakes) wake(key, upTo);
    return result;
  } catch (error) {
    open = false;
    const isOfCommit = isCommitting && flight.unfulfilled() === 1;
    if (isOfCommit && purpose === "write" && isSilence(error)) commits.suspect();
    // A connection that cannot roll back is not given to anybody else; one that is silent is not even asked.
    broken = isSilence(error)
      ? (error as Error)
      : await ask(connection.client, { text: "ROLLBACK" }, answerMs).then(
          () => undefined,
          (failure: Error) => failure,
        );
    throw error;
  } finally {
    connection.giveBack(broken);
  }
}

/** What has failed is told by the next statement, or by the end. */
const ignore = (): void => undefined;

/** One message, so that the settings cost no round trip. */
function beginText({ isPooled, limits }: TransactionContext, options: TransactionOptions): string {
  const { isolation, limitMs } = options;
  let text = "BEGIN";
  // Behind a pooler the role's own default may be another one.
  const level = isolation ?? (isPooled ? "read committed" : undefined);
  if (level !== undefined) text += ` ISOLATION LEVEL ${level.toUpperCase()}`;
  if (options.readOnly === true) text += " READ ONLY";
  if (isPooled) text += `; ${makeTransactionOurs(limitMs ?? limits.statementMs)}`;
  else if (limitMs !== undefined) text += `; SET LOCAL statement_timeout = ${limitMs}`;
  if (options.durability === "relaxed") text += "; SET LOCAL synchronous_commit = off";
  return text;
}
