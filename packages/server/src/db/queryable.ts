// What statements are run on.

import type pg from "pg";
import { arrayLiteral, type ArrayElement } from "./array-literal.ts";
import type { NotedFact } from "../noted-fact.ts";
import type { Sql } from "./sql.ts";

/** What runs a statement: the pool, each time on any connection, or a transaction. */
export interface Queryable {
  /** Runs one statement. Shapes of values: see `row-types.ts`. The caller names the shape of a row. */
  query<Row extends object = Record<string, unknown>>(statement: Sql): Promise<Row[]>;
}

/** Tells of what is durable. */
export interface Teller {
  /**
   * Wakes whoever waits for the key, here and on other servers. `upTo`: the cursor of what is new, when nothing else is.
   */
  wake(key: string, upTo?: number): void;
  /** Tells the metrics of something. */
  note(fact: NotedFact): void;
}

/** A transaction that is open. It ends with the function that received it. What it tells is told once it is durable: nothing when it is rolled back. */
export interface Tx extends Queryable, Teller {
  readonly isTransaction: true;
  /**
   * Runs a statement whose rows nobody asks for. Resolves when it is sent, and what follows is sent behind it: when it fails, the next
   * statement rejects with its error, or the transaction does. It costs no round trip of its own.
   */
  send(statement: Sql): Promise<void>;
  /**
   * Runs a statement that is the last one. Resolves when it is sent, so that COMMIT goes right behind it. Its rows come before the
   * transaction ends, and are worth what that is worth.
   */
  last<Row extends object>(statement: Sql): Promise<{ rows: Promise<Row[]> }>;
}

/** What may leave something to be flushed, and confirmed. A locking clause in a WITH is taken for a change, too, which costs little. */
const CHANGES =
  /^\s*(INSERT|UPDATE|DELETE|MERGE)\b|^\s*WITH\b[^]*\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO)\b/i;

/** Of texts, which the code bounds. */
const changes = new Map<string, boolean>();

export function isChange({ text }: Sql): boolean {
  let is = changes.get(text);
  if (is === undefined) changes.set(text, (is = CHANGES.test(text)));
  return is;
}

/** The query `pg` runs for a statement. */
export function toQuery(statement: Sql, statementNames: boolean): pg.QueryConfig {
  const values = statement.values.map((value) =>
    Array.isArray(value) ? arrayLiteral(value as ArrayElement[]) : value,
  );
  if (statementNames) return { name: statement.name, text: statement.text, values };
  return { text: statement.text, values };
}
