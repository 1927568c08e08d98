// Sends a statement on a connection, and waits for its answer.

import type pg from "pg";
import { watchOf, type Awaited } from "./answer-watch.ts";

/**
 * Rejects when the answer does not come in time, and ends the connection: what was sent behind it would wait as long.
 *
 * This is not left to the driver's promise and its `query_timeout`. It makes a callback for each by assigning a function to a
 * property, and V8 allocates a function that is written so in the old generation, because methods are
 * (`CheckAssigningFunctionLiteralToProperty`, src/parsing/parser.h). What it closes over is the statement, its rows and its
 * caller: all of that would outlive every scavenge, until the next full collection.
 *
 * @param answerMs how long the answer may take, in milliseconds, once those to what was sent before have come
 */
export async function ask<Row extends object>(
  client: pg.ClientBase,
  query: string | pg.QueryConfig,
  answerMs: number,
): Promise<pg.QueryResult<Row>> {
  try {
    return await answerTo<Row>(client, query, answerMs);
  } catch (error) {
    // Its stack is that of the socket, and says nothing of who has asked.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

const answerTo = <Row extends object>(
  client: pg.ClientBase,
  query: string | pg.QueryConfig,
  answerMs: number,
): Promise<pg.QueryResult<Row>> =>
  new Promise((resolve, reject) => {
    const watch = watchOf(client);
    const awaited: Awaited = { answerMs, reject };
    watch.sent(awaited);
    client.query<Row>(query, (error: Error | null, result) => {
      watch.answered(awaited);
      if (error) reject(error);
      else resolve(result);
    });
  });
