import { useRows, type List, type ListOptions } from "../../api/use-rows.ts";
import { ADMIN, SYSTEM_KEY } from "./system-page.tsx";

/** A list of the installation: `useSystemList<Worker>("workers")`. */
export function useSystemList<Row>(resource: string, options: ListOptions = {}): List<Row> {
  return useRows<Row>(SYSTEM_KEY, `${ADMIN}/${resource}`, resource.replaceAll("-", "_"), {}, options);
}
