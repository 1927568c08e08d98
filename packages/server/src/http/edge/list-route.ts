import { Page } from "@keelson/contract";
import type { Static, TSchema } from "typebox";
import { decodeCursor, encodeCursor, narrowed, pageLimit, toPage } from "./page.ts";
import {
  route,
  type Access,
  type Call,
  type Declared,
  type Definition,
  type Placing,
  type Reply,
  type RouteDefinition,
} from "./route.ts";

/** What of a list is read. */
export type PageRequest<Filter, Within extends string = string> = {
  filter: Filter;
  /** What the list is in: see `within`. */
  within: Within;
  /** The key of the row that it goes on after; null at its beginning. */
  after: string | null;
  /** One more than a page has, which tells whether there is another. */
  limit: number;
};

/**
 * A page that is cut already, for a list that does not read as many rows as it passes by. `next`: the key that the next page
 * begins after. `facts`: what the reply says besides.
 */
export type CutPage<Row> = { rows: Row[]; next: string | null; facts: Readonly<Record<string, unknown>> };

/** What a row is shown with. */
export type WireFacts<Within extends string = string> = { within: Within; now: number };

type PageQuery = { limit?: number; cursor?: string };
type QueryOf<Q extends TSchema> = Static<Q> & PageQuery;

type ListDefinition<
  A extends Access,
  P extends Declared,
  Q extends TSchema,
  Filter,
  Row,
  Within extends string,
> = Placing &
  Omit<
    Definition<A, P, Q, undefined, undefined>,
    "method" | "query" | "body" | "handle" | "responses" | "examples" | "transaction" | "idempotency"
  > & {
    /** The plural that the reply has its rows under, which names the list in its cursors, too. */
    items: string;
    resource: TSchema;
    /** What the rows are called in text; `items` when absent. */
    title?: string;
    /** The schema of a page, where it says more than that of every list. */
    page?: TSchema;
    example?: unknown;
    /** The page's own parameters and those of the filter. */
    query: Q;
    /** The filter of a query; undefined where there is none. */
    filter?: (query: QueryOf<Q>) => Filter;
    /** What else of a query tells lists apart whose cursors are not each other's, with its default. */
    defaults?: Partial<QueryOf<Q>>;
    /** The id of what the list is in, once it is known to be there. */
    within?: (call: Call<A, P, Q, undefined>) => Promise<Within>;
    read: (
      call: Call<A, P, Q, undefined>,
      page: PageRequest<Filter, Within>,
    ) => Promise<Row[] | CutPage<Row>>;
    /** A row's place in the list; its `id` when absent. */
    key?: { of: (row: Row) => string; pattern?: RegExp };
    pageSize?: number;
  } & ({ toWire: (row: Row, facts: WireFacts<Within>) => unknown } | { toJson: (row: Row) => string });

/** A list by pages: the first rows after a cursor, and where the next page begins. */
export function listRoute<
  const A extends Access,
  Q extends TSchema,
  Row extends object,
  P extends Declared = undefined,
  Filter = undefined,
  Within extends string = string,
>(definition: ListDefinition<A, P, Q, Filter, Row, Within>): RouteDefinition {
  const {
    items,
    resource,
    title = items,
    page,
    example,
    filter,
    defaults,
    within,
    read,
    key,
    pageSize,
    ...rest
  } = definition;
  const keyOf = key?.of ?? ((row: Row) => (row as { id: string }).id);
  const handle = async (call: Call<A, P, Q, undefined>): Promise<Reply> => {
    const query = call.query as QueryOf<Q>;
    const { limit: size, cursor }: PageQuery = query;
    const inside = (within === undefined ? "" : await within(call)) as Within;
    const place = placeOf(call.scope);
    const name = narrowed(inside === "" ? items : `${items} ${inside}`, { ...defaults, ...query });
    const limit = pageLimit(size, pageSize);
    const rows = await read(call, {
      filter: filter?.(query) as Filter,
      within: inside,
      after: decodeCursor(name, place, cursor, key?.pattern),
      limit: limit + 1,
    });
    const keyCursor = (key: string): string => encodeCursor(name, place, key);
    const shown = Array.isArray(rows)
      ? { ...toPage(rows, limit, (row) => keyCursor(keyOf(row))), facts: {} }
      : { ...rows, nextCursor: rows.next === null ? null : keyCursor(rows.next) };
    const facts = { within: inside, now: call.server.clock() };
    const besides = { next_cursor: shown.nextCursor, ...shown.facts };
    if ("toWire" in definition)
      return {
        status: 200,
        body: { [items]: shown.rows.map((row) => definition.toWire(row, facts)), ...besides },
      };
    const texts = shown.rows.map(definition.toJson).join(",");
    return { status: 200, json: `{"${items}":[${texts}],${JSON.stringify(besides).slice(1)}` };
  };
  return route<A, P, Q>({
    ...rest,
    method: "GET",
    responses: { 200: { description: `A page of ${title}.`, schema: page ?? Page(items, resource) } },
    ...(example === undefined ? {} : { examples: { response: { [items]: [example], next_cursor: null } } }),
    handle,
  });
}

/** Whose list it is: a cursor of one is not taken for another's. */
function placeOf(scope: Call<Access, undefined, undefined, undefined>["scope"]): string {
  if (scope === null) return "installation";
  if ("environmentId" in scope && scope.environmentId !== null) return scope.environmentId;
  if ("projectId" in scope) return scope.projectId;
  if ("organizationId" in scope) return scope.organizationId;
  if ("userId" in scope) return scope.userId;
  throw new Error("There are no lists for such callers.");
}
