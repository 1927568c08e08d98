import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { get } from "./client.ts";
import { usePlace } from "./place.ts";

type Query = Record<string, string | number | readonly string[] | undefined>;
export type ItemOptions = {
  query?: Query;
  /** Asked again this often, in milliseconds, while the page is seen. Absent: when something says it changed. */
  refetchMs?: number | undefined;
  enabled?: boolean;
};

/** The key of what a path of the environment answers: to read it again, or to put a newer answer there. */
export const itemKey = (environmentId: string, path: string, query: Query = {}): unknown[] => [
  "e",
  environmentId,
  path,
  query,
];

/** What a GET of the environment answers, kept and shared by all that show it. */
export function useItem<T>(
  path: string,
  { query = {}, refetchMs, enabled = true }: ItemOptions = {},
): UseQueryResult<T> {
  const place = usePlace();
  return useQuery<T>({
    queryKey: itemKey(place.environment_id, path, query),
    queryFn: ({ signal }) => get<T>(path, { ...place, ...query }, signal),
    enabled,
    ...(refetchMs !== undefined && { refetchInterval: refetchMs }),
  });
}
