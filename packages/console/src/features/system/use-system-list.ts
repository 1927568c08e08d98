import type { ListRoute } from "../../api/client.ts";
import type { QueryOf, RowOf } from "../../api/route.ts";
import { useRows, type List, type ListOptions } from "../../api/use-rows.ts";
import { SYSTEM_KEY } from "./system-page.tsx";

/** A list of the installation: `useSystemList(adminListWorkers)`. */
export const useSystemList = <R extends ListRoute>(
  route: R,
  { query, ...options }: ListOptions & { query?: QueryOf<R> } = {},
): List<RowOf<R>> => useRows(SYSTEM_KEY, route, query ?? ({} as QueryOf<R>), options);
