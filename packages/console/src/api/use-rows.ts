import { useInfiniteQuery, type InfiniteData, type QueryKey } from "@tanstack/react-query";
import { useMemo } from "react";
import { get } from "./client.ts";

type Query = Record<string, string | number | readonly string[] | undefined>;
type Page<Name extends string, Row> = { [key in Name]: Row[] } & { next_cursor: string | null };

export type List<Row> = {
  rows: Row[];
  /** Nothing is there yet to show. */
  isPending: boolean;
  error: unknown;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  refetch: () => void;
};

export type ListOptions = {
  query?: Query;
  /** Read again this often, in milliseconds, while the page is seen and no more than a few pages are loaded. */
  refetchMs?: number;
  limit?: number;
  enabled?: boolean;
};

/** More pages than these are not read again at each interval: they are of the past. */
const MAX_LIVE_PAGES = 2;

/** A list of the server, newest first, page by page. `scope` is what every request of it carries besides its query. */
export function useRows<Row, Name extends string = string>(
  key: QueryKey,
  path: string,
  name: Name,
  scope: Query,
  options: ListOptions = {},
): List<Row> {
  const { query = {}, refetchMs, limit = 50, enabled = true } = options;
  const result = useInfiniteQuery<
    Page<Name, Row>,
    Error,
    InfiniteData<Page<Name, Row>>,
    QueryKey,
    string | null
  >({
    queryKey: [...key, path, query, "list"],
    queryFn: ({ pageParam, signal }) =>
      get<Page<Name, Row>>(path, { ...scope, ...query, limit, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
    enabled,
    refetchInterval: ({ state }) =>
      refetchMs !== undefined && (state.data?.pages.length ?? 0) <= MAX_LIVE_PAGES ? refetchMs : false,
  });
  const { data, isPending, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = result;
  const rows = useMemo(() => data?.pages.flatMap((page): Row[] => page[name]) ?? [], [data, name]);
  return {
    rows,
    isPending,
    // What is shown stays shown while the server is away; the shell says so.
    error: data === undefined ? error : null,
    hasMore: hasNextPage,
    isLoadingMore: isFetchingNextPage,
    loadMore: () => void fetchNextPage(),
    refetch: () => void refetch(),
  };
}
