import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { get } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { isNotFound } from "../../api/use-follow.ts";
import { itemKey, useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getRun, listRuns } from "../../api/routes/runs.ts";
import { toRunQuery, type RunFilters, type RunQuery } from "./run-filters.ts";
import { createRunList, type RunList } from "./run-list.ts";

const NEWEST_ROWS = 100;
const OLDER_ROWS = 200;
const REFETCH_MS = 2000;
/** A search looks at many runs each time. */
const SEARCH_REFETCH_MS = 5000;
/** More rows are not seen at a time. */
const MAX_SEEN = 60;

export type LoadedRuns = {
  list: RunList;
  /** Why nothing can be shown. */
  error: unknown;
  /** Why no older page came. */
  olderError: unknown;
  loadOlder: () => void;
  refetch: () => void;
  /** Which rows are seen: those of them that live are read again and again. */
  setSeen: (from: number, to: number) => void;
};

/** A list begins when it is opened, and so do the times it is of. */
const openList = (filters: RunFilters): { query: RunQuery; list: RunList } => ({
  query: toRunQuery(filters, Date.now()),
  list: createRunList(),
});

/** Runs by the filters: the newest page and the seen live rows are kept current, older pages are read when asked for. */
export function useRunList(filters: RunFilters): LoadedRuns {
  const place = usePlace();
  const key = JSON.stringify(filters);
  const { query, list } = useMemo(() => openList(JSON.parse(key) as RunFilters), [key]);
  useSyncExternalStore(list.subscribe, list.version);
  const newest = useItem(listRuns, {
    query: { ...query, limit: NEWEST_ROWS },
    refetchMs: query.search === undefined && query.hide === undefined ? REFETCH_MS : SEARCH_REFETCH_MS,
  });
  useEffect(() => {
    if (newest.data !== undefined) list.readNewest(newest.data);
  }, [newest.data, list]);

  const [olderError, setOlderError] = useState<unknown>(null);
  const loading = useRef<RunList>(null);
  const loadOlder = useCallback((): void => {
    const { cursor } = list;
    if (cursor === null || cursor === undefined || loading.current === list) return;
    loading.current = list;
    const read = async (): Promise<void> => {
      try {
        list.addOlder(await get(listRuns, { ...place, ...query, limit: OLDER_ROWS, cursor }), cursor);
        setOlderError(null);
      } catch (error) {
        setOlderError(error);
      } finally {
        if (loading.current === list) loading.current = null;
      }
    };
    void read();
  }, [list, place, query]);

  // A page of a search may have nothing, and the next one something.
  const { cursor, length } = list;
  useEffect(() => {
    if (length === 0 && typeof cursor === "string") loadOlder();
  }, [cursor, length, loadOlder]);

  const setSeen = useSeenRows(list);
  const { error, data, refetch } = newest;
  return {
    list,
    error: data === undefined ? error : null,
    olderError,
    loadOlder,
    refetch: () => void refetch(),
    setSeen,
  };
}

type Seen = { from: number; to: number };

/** Reads the seen rows that live one by one: the list with its filters would not tell their outcomes. */
function useSeenRows(list: RunList): (from: number, to: number) => void {
  const place = usePlace();
  const seen = useRef<Seen>({ from: 0, to: 0 });
  const { data } = useQuery({
    queryKey: [...itemKey(place.environment_id, listRuns), "seen"],
    queryFn: async ({ signal }) => {
      const { from, to } = seen.current;
      const ids = list.liveIds(from, Math.min(to, from + MAX_SEEN));
      const runs = await Promise.all(
        ids.map((id) =>
          get(at(getRun, { id }), place, signal).catch((error: unknown) => {
            // It was dropped: its row stays as it was.
            if (isNotFound(error)) return null;
            throw error;
          }),
        ),
      );
      return runs.filter((run) => run !== null);
    },
    refetchInterval: REFETCH_MS,
  });
  useEffect(() => {
    if (data !== undefined && data.length > 0) list.update(data);
  }, [data, list]);
  return useCallback((from, to) => {
    seen.current = { from, to };
  }, []);
}
