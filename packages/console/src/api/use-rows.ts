import { useInfiniteQuery, type InfiniteData, type QueryKey } from "@tanstack/react-query";
import { useMemo } from "react";
import { get, rowsOf, type ListRoute } from "./client.ts";
import type { AnswerOf, QueryOf, RowOf } from "./route.ts";

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
  /** Read again this often, in milliseconds, while the page is seen and no more than a few pages are loaded. */
  refetchMs?: number;
  limit?: number;
  enabled?: boolean;
};

/** More pages than these are not read again at each interval: they are of the past. */
const MAX_LIVE_PAGES = 2;

/** A list of the server, newest first, page by page. */
export function useRows<R extends ListRoute>(
  key: QueryKey,
  route: R,
  query: QueryOf<R>,
  { refetchMs, limit = 50, enabled = true }: ListOptions = {},
): List<RowOf<R>> {
  const result = useInfiniteQuery<AnswerOf<R>, Error, InfiniteData<AnswerOf<R>>, QueryKey, string | null>({
    queryKey: [...key, route.path, query, "list"],
    queryFn: ({ pageParam, signal }) =>
      get(route, { ...query, limit, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
    enabled,
    refetchInterval: ({ state }) =>
      refetchMs !== undefined && (state.data?.pages.length ?? 0) <= MAX_LIVE_PAGES ? refetchMs : false,
  });
  const { data, isPending, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = result;
  const { items } = route;
  const rows = useMemo(() => data?.pages.flatMap((page) => rowsOf<R>(items, page)) ?? [], [data, items]);
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
