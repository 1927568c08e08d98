import type { ListRoute } from "./client.ts";
import { usePlace } from "./place.ts";
import type { QueryOf, RowOf } from "./route.ts";
import type { PlaceQuery } from "./use-item.ts";
import { useRows, type List, type ListOptions } from "./use-rows.ts";

export type { List } from "./use-rows.ts";

/** A list of the environment. */
export function useList<R extends ListRoute>(
  route: R,
  { query, ...options }: ListOptions & { query?: PlaceQuery<R> } = {},
): List<RowOf<R>> {
  const place = usePlace();
  return useRows(["e", place.environment_id], route, { ...place, ...query } as QueryOf<R>, options);
}
