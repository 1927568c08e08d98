import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { get } from "./client.ts";
import { usePlace, type Place } from "./place.ts";
import type { Address, AnswerOf, QueryOf } from "./route.ts";

/** A route of the environment, whose place `useItem` and `useList` add. */
export type PlaceQuery<R> = Omit<QueryOf<R>, keyof Place>;
/** As an option: it may be left out where the route needs none. */
export type WithQuery<Query> = object extends Query ? { query?: Query } : { query: Query };

export type ItemOptions = {
  /** Asked again this often, in milliseconds, while the page is seen. Absent: when something says it changed. */
  refetchMs?: number | undefined;
  enabled?: boolean;
};

/** The key of what a route of the environment answers: to read it again, or to put a newer answer there. */
export const itemKey = (environmentId: string, { path }: Address, query: object = {}): unknown[] => [
  "e",
  environmentId,
  path,
  query,
];

/** What a GET of the environment answers, kept and shared by all that show it. */
export function useItem<R extends Address>(
  route: R,
  ...[options]: object extends PlaceQuery<R>
    ? [(ItemOptions & WithQuery<PlaceQuery<R>>)?]
    : [ItemOptions & WithQuery<PlaceQuery<R>>]
): UseQueryResult<AnswerOf<R>> {
  const place = usePlace();
  const { query = {}, refetchMs, enabled = true }: ItemOptions & { query?: object } = options ?? {};
  return useQuery<AnswerOf<R>>({
    queryKey: itemKey(place.environment_id, route, query),
    queryFn: ({ signal }) => get(route, { ...place, ...query } as QueryOf<R>, signal),
    enabled,
    ...(refetchMs !== undefined && { refetchInterval: refetchMs }),
  });
}
