import { rawSql, sql, type Sql } from "./sql.ts";

// Joins that look rows of a table up for each row before them. Written as JOIN … ON, how they are joined is the planner's choice,
// which it makes by what it knew of the table when it planned. Of one that was nearly empty then, as those of live things are again
// and again, it reads all rows and compares each with each key. `OFFSET 0` keeps it from that.

/** The rows of `table` that `on` finds by an index; it calls them `alias`. */
export const joinByKey = (table: string, alias: string, on: Sql): Sql =>
  sql`CROSS JOIN LATERAL (SELECT * FROM ${rawSql(`${table} ${alias}`)} WHERE ${on} OFFSET 0) ${rawSql(alias)}`;

/** The same, with a row of nulls where there is none. */
export const leftJoinByKey = (table: string, alias: string, on: Sql): Sql =>
  sql`LEFT JOIN LATERAL (SELECT * FROM ${rawSql(`${table} ${alias}`)} WHERE ${on} OFFSET 0) ${rawSql(alias)} ON true`;
