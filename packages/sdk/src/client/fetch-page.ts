import type { ApiRequest, RequestOptions } from "./exchange.ts";
import { createPagedList, type PagedList, type PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";

/** A list of the wire, whose rows are under the resource's plural name. */
export const listOf = <T>(
  transport: Transport,
  path: string,
  plural: string,
  query: PageQuery & { filters?: ApiRequest["query"] },
  options: RequestOptions,
): PagedList<T> =>
  createPagedList(async (cursor) => {
    const page = await transport.request<Record<string, unknown>>({
      method: "GET",
      path,
      query: { limit: query.limit, cursor, ...query.filters },
      ...options,
    });
    return { items: page[plural] as T[], next_cursor: page["next_cursor"] as string | null };
  }, query.cursor);
