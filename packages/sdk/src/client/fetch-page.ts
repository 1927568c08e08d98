import type { CamelCased, Shape } from "./camel-cased.ts";
import type { ApiRequest, RequestOptions } from "./exchange.ts";
import { createPagedList, type Page, type PagedList, type PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";

/** A page of the wire, whose rows are under the resource's plural name. */
export async function fetchPage<T>(
  transport: Transport,
  shape: Shape<T>,
  path: string,
  plural: string,
  request: Omit<ApiRequest, "method" | "path">,
): Promise<Page<CamelCased<T>>> {
  const page = (await transport.request({ method: "GET", path, ...request })) as Record<string, unknown>;
  const rows = page[plural] as unknown[];
  return {
    items: rows.map((row) => transport.read(shape, row)),
    nextCursor: page["next_cursor"] as string | null,
  };
}

/** What of a query says which page. */
export const pageOf = ({ limit, cursor }: PageQuery): PageQuery => ({
  ...(limit !== undefined && { limit }),
  ...(cursor !== undefined && { cursor }),
});

/** A list of the wire. */
export const listOf = <T>(
  transport: Transport,
  shape: Shape<T>,
  path: string,
  plural: string,
  query: PageQuery & { filters?: ApiRequest["query"] },
  options: RequestOptions,
): PagedList<CamelCased<T>> =>
  createPagedList(
    (cursor) =>
      fetchPage(transport, shape, path, plural, {
        query: { limit: query.limit, cursor, ...query.filters },
        ...options,
      }),
    query.cursor,
  );
