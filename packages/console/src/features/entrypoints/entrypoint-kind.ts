import type { Actor, Task } from "@keelson/contract";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { getAll } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { itemKey } from "../../api/use-item.ts";

/** Tasks and actors are declared, listed and started alike. */
export type EntrypointKind = "task" | "actor";
export type Entrypoint = Task | Actor;

const PATHS = { task: "/api/tasks", actor: "/api/actors" } as const;
const REFETCH_MS = 10_000;

/** The page, and its part of the address. */
export const pageOf = (kind: EntrypointKind): string => (kind === "task" ? "tasks" : "actors");

/** All that the current deployment declares, by name. */
export function useEntrypoints(kind: EntrypointKind): UseQueryResult<Entrypoint[]> {
  const place = usePlace();
  return useQuery<Entrypoint[]>({
    queryKey: itemKey(place.environment_id, PATHS[kind], { all: 1 }),
    queryFn: async () => {
      const rows = await getAll<Entrypoint>(PATHS[kind], pageOf(kind), place);
      return rows.toSorted((one, other) => (one.declared_id < other.declared_id ? -1 : 1));
    },
    refetchInterval: REFETCH_MS,
  });
}
