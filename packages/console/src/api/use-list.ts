import { usePlace } from "./place.ts";
import { useRows, type List, type ListOptions } from "./use-rows.ts";

export type { List } from "./use-rows.ts";

/** A list of the environment. */
export function useList<Row, Name extends string = string>(
  path: string,
  name: Name,
  options: ListOptions = {},
): List<Row> {
  const place = usePlace();
  return useRows<Row, Name>(["e", place.environment_id], path, name, place, options);
}
