import { useInfiniteQuery, type InfiniteData } from "@tanstack/react-query";
import { useMemo } from "react";
import { get } from "./client.ts";
import { usePlace } from "./place.ts";
import { itemKey } from "./use-item.ts";

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

/** More pages than these are not read again at each interval: they are of the past. */
const MAX_LIVE_PAGES = 2;

/**
 * A list of the environment, newest first, page by page. With `refetchMs` it is read again while the page is seen, as long
 * as no more than a few pages are loaded.
 */
export function useList<Row, Name extends string = string>(
  path: string,
  name: Name,
  options: { query?: Query; refetchMs?: number; limit?: number; enabled?: boolean } = {},
): List<Row> {
  const { query = {}, refetchMs, limit = 50, enabled = true } = options;
  const place = usePlace();
  const result = useInfiniteQuery<
    Page<Name, Row>,
    Error,
    InfiniteData<Page<Name, Row>>,
    unknown[],
    string | null
  >({
    queryKey: [...itemKey(place.environment_id, path, query), "list"],
    queryFn: ({ pageParam, signal }) =>
      get<Page<Name, Row>>(path, { ...place, ...query, limit, cursor: pageParam ?? undefined }, signal),
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
