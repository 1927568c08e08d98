// A server that dies at a chosen place.

import type { Database } from "../../src/db/pool.ts";
import type { Queryable } from "../../src/db/queryable.ts";

export class Killed extends Error {}

export type Dying = {
  db: Database;
  /** Counts other work than statements. */
  step<Result>(work: () => Promise<Result>): Promise<Result>;
};

/**
 * The server dies before its n-th doing, or after it and before it knows: each statement is one, and each transaction.
 * Everything that it does from then on throws `Killed`.
 */
export function killedAt(database: Database, at: number): Dying {
  let left = at;
  const step = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (left-- <= 0) throw new Killed();
    const result = await work();
    if (left-- <= 0) throw new Killed();
    return result;
  };
  const watched = (db: Queryable): Queryable => ({ query: (statement) => step(() => db.query(statement)) });
  return {
    step,
    db: {
      ...database,
      ...watched(database),
      transaction: (work, options) =>
        step(() =>
          database.transaction(
            (tx) => work({ ...tx, ...watched(tx), send: (statement) => step(() => tx.send(statement)) }),
            options,
          ),
        ),
    },
  };
}
