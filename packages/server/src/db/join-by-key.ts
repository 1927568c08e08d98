import { rawSql, sql, type Sql } from "./sql.ts";

// Joins that look rows of a table up for each row before them. Written as JOIN … ON, how they are joined is the planner's choice,
// which it makes by what it knew of the table when it planned. Of one that was nearly empty then, as those of live things are again
// and again, it reads all rows and compares each with each key. `OFFSET 0` keeps it from that.
//
// `columns` are named in a statement that writes or locks, which carries along all of what it joins: long texts, too.

/** The rows of `table` that `on` finds by an index; it calls them `alias`. */
export const joinByKey = (table: string, alias: string, on: Sql, columns = "*"): Sql =>
  sql`CROSS JOIN LATERAL (${lookUp(table, alias, on, columns)}) ${rawSql(alias)}`;

/** The same, with a row of nulls where there is none. */
export const leftJoinByKey = (table: string, alias: string, on: Sql): Sql =>
  sql`LEFT JOIN LATERAL (${lookUp(table, alias, on, "*")}) ${rawSql(alias)} ON true`;

type RowLock = "FOR SHARE" | "FOR NO KEY UPDATE" | "FOR UPDATE";

/** As `joinByKey`, each row locked when it is found: in the order of the rows before them. */
export const lockByKey = (lock: RowLock, table: string, alias: string, on: Sql, columns: string): Sql =>
  sql`CROSS JOIN LATERAL (${lookUp(table, alias, on, columns)} ${rawSql(lock)}) ${rawSql(alias)}`;

const lookUp = (table: string, alias: string, on: Sql, columns: string): Sql =>
  sql`SELECT ${rawSql(columns)} FROM ${rawSql(`${table} ${alias}`)} WHERE ${on} OFFSET 0`;
