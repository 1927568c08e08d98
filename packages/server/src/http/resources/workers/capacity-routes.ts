import type { RouteDefinition } from "../../edge/route.ts";
import { workerList } from "./list.ts";

export const capacityWorkerRoutes: RouteDefinition[] = [
  workerList("capacity", "listCapacityWorkers", "Capacity", { kind: "capacity" }),
];
