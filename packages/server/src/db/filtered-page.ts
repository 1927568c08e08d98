// Pages of a list with filters, in the order of its keys, read by the filter that lets the fewest rows pass.

import type { Uuid } from "@keelson/contract";
import { joinByKey } from "./join-by-key.ts";
import { firstOf, NEWEST_FIRST, OLDEST_FIRST } from "./pages.ts";
import type { Queryable } from "./queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "./sql.ts";
import { FIRST_UUID, LAST_UUID } from "../uuid.ts";

/**
 * A filter for one value of a column.
 *
 * `isIndexed`: there is an index of (environment_id, column, key). `predicate`: of that index, when it is partial and the
 * planner does not deduce it from the value.
 */
export type Match = { column: Sql; value: string | number; isIndexed: boolean; predicate: Sql | null };

export const matchOf = (column: string, value: string | number | null): Match[] =>
  value === null ? [] : [{ column: rawSql(column), value, isIndexed: true, predicate: null }];

/**
 * What a list is read from.
 *
 * `rows`: the table that is gone through. `tables`: that, with all that conditions look at. `predicate`: what holds for its
 * part of the list. `leading`: the column whose index is read. Said as an equality the planner may read the newest rows of
 * all instead, until enough have the value: with a rare one that is the whole history. In a range and in the order nothing
 * but that index serves.
 */
export type Source = {
  rows: Sql;
  tables: Sql;
  environment: Sql;
  key: Sql;
  predicate: Sql | null;
  leading: { column: Sql; value: string | number } | null;
};

/** A table of which each row is listed. `joins`: what conditions look at besides. */
export function sourceOf(table: string, alias: string, joins: Sql = sql``): Source {
  const rows = rawSql(`${table} ${alias}`);
  const environment = rawSql(`${alias}.environment_id`);
  return {
    rows,
    tables: sql`${rows}${joins}`,
    environment,
    key: rawSql(`${alias}.id`),
    predicate: null,
    leading: null,
  };
}

/** A way through the list: the sources that have its rows between them. */
export type Way = readonly Source[];

/** Where a page is: `from` is its first possible key, `after` and `before` are outside. Keys are UUIDs. */
export type Place = {
  environmentId: Uuid<"env">;
  from?: string | null;
  after?: string | null;
  before?: string | null;
  isOldestFirst?: boolean;
};

/** The ways by the index of a column. */
export const waysBy = (source: Source, matches: readonly Match[]): Way[] =>
  matches.filter(({ isIndexed }) => isIndexed).map((match) => [by(source, match)]);

/** The way by the index of a column that may have several values: one after the other. None is no filter. */
export const waysByAny = (source: Source, column: string, values: readonly string[]): Way[] =>
  values.length === 0
    ? []
    : [[...new Set(values)].map((value) => by(source, { column: rawSql(column), value, predicate: null }))];

export const by = (source: Source, { column, value, predicate }: Omit<Match, "isIndexed">): Source => ({
  ...source,
  leading: { column, value },
  predicate,
});

/** The way by a table that has a row for each tag of each row. The planner looks for the row of a tag, never for the tags of rows. */
export function waysByTag(
  tags: readonly string[],
  {
    table,
    of,
    id,
    alias,
    joins = sql``,
  }: { table: string; of: string; id: string; alias: string; joins?: Sql },
): Way[] {
  const [tag] = tags;
  if (tag === undefined) return [];
  const tables = sql`${rawSql(table)} tagged
    ${joinByKey(of, alias, rawSql(`${alias}.environment_id = tagged.environment_id AND ${alias}.id = tagged.${id}`))}${joins}`;
  const tagged: Source = {
    ...{ rows: sql`${rawSql(table)} tagged`, tables, predicate: null },
    ...{ environment: rawSql("tagged.environment_id"), key: rawSql(`tagged.${id}`) },
    leading: { column: rawSql("tagged.tag"), value: tag },
  };
  return [[tagged]];
}

/** More rows than these are many: of ways that all have many the first is taken. */
const MANY = 1_000;

/**
 * A statement for the ids of a page, in order.
 *
 * With one filter it reads about as many rows as the page has. With several it counts first how many each lets pass, up to
 * 1,000, and reads the rows of the rarest until the page is full.
 *
 * @param ways those that mostly have the fewest rows first.
 * @param conditionsOf what the filters ask of a row of the source beyond its own part.
 */
export async function selectPage(
  db: Queryable,
  { all, ways, conditionsOf }: { all: Source; ways: readonly Way[]; conditionsOf(source: Source): Sql[] },
  place: Place,
  limit: number,
): Promise<Sql> {
  const way = await chooseWay(db, ways.length === 0 ? [[all]] : ways, place);
  const pages = way.map(
    (source) => sql`SELECT ${source.key} AS id FROM ${source.tables}
      WHERE ${joinSql([...placeOf(source, place), ...conditionsOf(source)], " AND ")}
      ${orderOf(source, place)} LIMIT ${limit}`,
  );
  const [only] = pages;
  if (only !== undefined && pages.length === 1) return only;
  return firstOf(pages, place.isOldestFirst === true ? OLDEST_FIRST : NEWEST_FIRST, limit);
}

/** @returns the filters that are asked of each row. No index serves them: what leads was chosen. */
export const conditionsOfMatches = (matches: readonly Match[], { leading }: Source): Sql[] =>
  matches
    .filter(({ column }) => column.text !== leading?.column.text)
    .map(({ column, value }) => sql`${column} IS NOT DISTINCT FROM ${value}`);

async function chooseWay(db: Queryable, ways: readonly Way[], place: Place): Promise<Way> {
  const [first, ...others] = ways;
  if (first === undefined || others.length === 0) return first ?? [];
  const countOf = (source: Source): Sql => sql`(SELECT count(*) FROM (
    SELECT FROM ${source.rows} WHERE ${joinSql(placeOf(source, place), " AND ")}
    ${orderOf(source, place)} LIMIT ${MANY}) counted)`;
  const counts = ways.map((way) => joinSql(way.map(countOf), " + "));
  const [row] = await db.query<{ rows: number[] }>(
    sql`SELECT ARRAY[${joinSql(counts, ", ")}]::int[] AS rows`,
  );
  const rows = (row?.rows ?? []).map((count) => Math.min(count, MANY));
  return ways[rows.indexOf(Math.min(...rows))] ?? first;
}

/** What the reading of a source begins and ends at. */
function placeOf(
  { environment, key, predicate, leading }: Source,
  { environmentId, from, after, before, isOldestFirst }: Place,
): Sql[] {
  const own = [sql`${environment} = ${environmentId}`, ...(predicate === null ? [] : [predicate])];
  const bounds = [[">=", from] as const, [">", after] as const, ["<", before] as const].flatMap(([is, id]) =>
    id === null || id === undefined ? [] : [{ is, id }],
  );
  if (leading === null) return [...own, ...bounds.map(({ is, id }) => sql`${key} ${rawSql(is)} ${id}`)];
  const { column, value } = leading;
  // An index is entered at the first bound that is said for it. The other end is said of the column alone, too: that shows
  // the planner that the column is not null, as a partial index asks.
  const [end, start] = isOldestFirst === true ? (["<=", ">"] as const) : ([">=", "<"] as const);
  if (!bounds.some(({ is }) => is.startsWith(start)))
    bounds.push(start === ">" ? { is: ">=", id: FIRST_UUID } : { is: "<", id: LAST_UUID });
  return [
    ...own,
    sql`${column} ${rawSql(end)} ${value}`,
    ...bounds.map(({ is, id }) => sql`(${column}, ${key}) ${rawSql(is)} (${value}, ${id})`),
  ];
}

function orderOf({ key, leading }: Source, { isOldestFirst }: Place): Sql {
  const way = rawSql(isOldestFirst === true ? "" : " DESC");
  return leading === null ? sql`ORDER BY ${key}${way}` : sql`ORDER BY ${leading.column}${way}, ${key}${way}`;
}
