import type { Actor, Task } from "@keelson/contract";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { getAll } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { itemKey } from "../../api/use-item.ts";
import { listActors } from "../../api/routes/actors.ts";
import { listTasks } from "../../api/routes/tasks.ts";

/** Tasks and actors are declared, listed and started alike. */
export type EntrypointKind = "task" | "actor";
export type Entrypoint = Task | Actor;

const REFETCH_MS = 10_000;

/** The page, and its part of the address. */
export const pageOf = (kind: EntrypointKind): string => (kind === "task" ? "tasks" : "actors");

/** All that the current deployment declares, by name. */
export function useEntrypoints(kind: EntrypointKind): UseQueryResult<Entrypoint[]> {
  const place = usePlace();
  return useQuery<Entrypoint[]>({
    queryKey: itemKey(place.environment_id, kind === "task" ? listTasks : listActors, { all: 1 }),
    queryFn: async () => {
      const rows: Entrypoint[] = await (kind === "task"
        ? getAll(listTasks, place)
        : getAll(listActors, place));
      return rows.toSorted((one, other) => (one.declared_id < other.declared_id ? -1 : 1));
    },
    refetchInterval: REFETCH_MS,
  });
}
