// Whole tables as streams, for backups: which there are, in an order in which they can be written, and COPY both ways.
// All of it on one connection past any pooler, in transactions that last for as long as the copying does.

import type { Writable } from "node:stream";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { openSession } from "./open-session.ts";
import { type Queryable, toQuery } from "./queryable.ts";
import { rowTypes } from "./row-types.ts";
import { quoteIdentifier, type Sql } from "./sql.ts";

export interface TableShape {
  readonly name: string;
  /** Those that are stored; a generated column is made anew. */
  readonly columns: readonly string[];
}

/** They say how the tables and indexes were made, and are written by making them. */
const OF_THE_SCHEMA = ["keelson_migrations", "index_builds"];

/** Rows that are being copied; `rowCount` is of those that were, once the stream has ended. */
export type CopiedRows = Writable & { readonly rowCount: number };

export interface CopySession extends Queryable {
  /** Runs `work` in one read-only transaction, of which every statement sees the same moment. */
  inSnapshot<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs `work`, whose statements read a part of large tables: PostgreSQL finds the rows by indexes, whatever it expects of them. */
  byIndex<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs `work` in one transaction: all of it is done, or nothing. */
  inTransaction<Result>(work: () => Promise<Result>): Promise<Result>;
  /** All tables of the schema, those that others refer to first, else by name. */
  listTables(): Promise<TableShape[]>;
  /** Also what migrations have put into them. */
  emptyTables(tables: readonly TableShape[]): Promise<void>;
  /**
   * Gives `take` the rows as COPY writes them, in text: any version of PostgreSQL reads it.
   *
   * @param rows what follows FROM when not all rows are wanted, with the table as `t`. COPY takes no parameters, so it has none.
   * @returns how many rows there were.
   */
  copyOut(
    table: TableShape,
    rows: Sql | undefined,
    take: (chunk: Buffer) => void | Promise<void>,
  ): Promise<number>;
  copyIn(table: TableShape): CopiedRows;
  close(): Promise<void>;
}

// Whatever the server is set to: the text of a number is the same everywhere. What else depends on it, each session sets.
const SETTINGS = "SET extra_float_digits = 1";

// A page of a large table is a small part of it for the planner only when its statistics are fresh.
const BY_INDEX = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";
const BY_COST = "RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin";

/** @param url past any pooler. */
export async function openCopySession(url: string): Promise<CopySession> {
  const client = await openSession({ url, applicationName: "keelson backup", types: rowTypes });
  await client.query(SETTINGS);
  const within = async <Result>(begin: string, work: () => Promise<Result>): Promise<Result> => {
    await client.query(begin);
    try {
      const result = await work();
      await client.query("COMMIT");
      return result;
    } catch (error) {
      // The first error is the one to tell; the connection is closed by the caller in any case.
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  };
  return {
    query: async <Row extends object>(statement: Sql): Promise<Row[]> =>
      (await client.query<Row>(toQuery(statement, false))).rows,
    inSnapshot: (work) => within("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", work),
    byIndex: async (work) => {
      await client.query(BY_INDEX);
      const result = await work();
      await client.query(BY_COST);
      return result;
    },
    inTransaction: (work) => within("BEGIN", work),
    listTables: () => listTables(client),
    emptyTables: async (tables) => {
      const filled: string[] = [];
      for (const { name } of tables) {
        const table = quoteIdentifier(name);
        const { rowCount } = await client.query(`SELECT FROM ${table} LIMIT 1`);
        if (rowCount !== 0) filled.push(table);
      }
      // Not the empty ones: a table whose rows are never to be removed refuses even that.
      if (filled.length > 0) await client.query(`TRUNCATE ${filled.join(", ")} CASCADE`);
    },
    copyOut: async (table, rows, take) => {
      const copied = client.query(copyTo(copyStatement(table, rows)));
      for await (const chunk of copied) await take(chunk as Buffer);
      // PostgreSQL tells the number behind the bytes, and maybe later: it is there when the next statement is answered.
      await client.query("SELECT");
      return copied.rowCount;
    },
    copyIn: (table) =>
      client.query(copyFrom(`COPY ${quoteIdentifier(table.name)} (${listOf(table)}) FROM STDIN`)),
    close: () => client.end(),
  };
}

function copyStatement(table: TableShape, rows: Sql | undefined): string {
  if (rows === undefined) return `COPY ${quoteIdentifier(table.name)} (${listOf(table)}) TO STDOUT`;
  if (rows.values.length > 0) throw new Error("COPY takes no parameters.");
  const columns = table.columns.map((column) => `t.${quoteIdentifier(column)}`).join(", ");
  return `COPY (SELECT ${columns} FROM ${rows.text}) TO STDOUT`;
}

const listOf = ({ columns }: TableShape): string => columns.map(quoteIdentifier).join(", ");

async function listTables(client: pg.Client): Promise<TableShape[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; parents: string[] }>(
    `SELECT c.relname AS name,
       ARRAY(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
             ORDER BY a.attnum) AS columns,
       ARRAY(SELECT DISTINCT p.relname::text FROM pg_constraint k JOIN pg_class p ON p.oid = k.confrelid
             WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS parents
     FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1)
     ORDER BY c.relname`,
    [OF_THE_SCHEMA],
  );
  const ordered: TableShape[] = [];
  const waiting = new Map(rows.map((row) => [row.name, row]));
  while (waiting.size > 0) {
    const free = [...waiting.values()].filter(({ parents }) => !parents.some((name) => waiting.has(name)));
    if (free.length === 0)
      throw new Error(`The tables ${[...waiting.keys()].join(", ")} refer to each other.`);
    for (const { name, columns } of free) {
      ordered.push({ name, columns });
      waiting.delete(name);
    }
  }
  return ordered;
}
