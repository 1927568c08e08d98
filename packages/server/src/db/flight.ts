import type pg from "pg";
import { ask } from "./ask.ts";
import { joinWrites } from "./open-session.ts";

/** Statements of one transaction that are under way: each is sent without waiting for the answers to those before it. */
export interface Flight {
  /**
   * Sends a statement behind all others. Rejects with the error of the first that failed: what comes after that fails, or is done
   * outside of a transaction, only because of it.
   *
   * @param answerMs how long its answer may take, in milliseconds, once those before it have come
   * @param isFollowed by another one at once: both leave together.
   */
  send<Row extends object>(
    query: pg.QueryConfig,
    answerMs: number,
    isFollowed?: boolean,
  ): Promise<pg.QueryResult<Row>>;
  /** How many were not carried out, as far as it is known. */
  unfulfilled(): number;
}

export function createFlight(client: pg.ClientBase): Flight {
  let failure: unknown;
  let hasFailed = false;
  let unfulfilled = 0;
  return {
    unfulfilled: () => unfulfilled,
    send: async <Row extends object>(query: pg.QueryConfig, answerMs: number, isFollowed = false) => {
      if (isFollowed) joinWrites(client);
      unfulfilled += 1;
      try {
        const result = await ask<Row>(client, query, answerMs);
        unfulfilled -= 1;
        if (!hasFailed) return result;
      } catch (error) {
        if (!hasFailed) failure = error;
        hasFailed = true;
      }
      throw failure;
    },
  };
}
