import { Page, pageQuery, Worker, workerFilter } from "@keelson/contract";
import { Type } from "typebox";
import { route, type Route } from "../route.ts";
import { answerWorkerList } from "../worker-list.ts";

export const capacityWorkerRoutes: Route[] = [
  route({
    family: "capacity",
    method: "GET",
    path: "/capacity/v1/workers",
    operationId: "listCapacityWorkers",
    summary: "List workers",
    description: "Newest first; of one group, of one status, or all that ever enrolled.",
    tag: "Capacity",
    access: { kind: "capacity" },
    query: Type.Object({ ...pageQuery(), ...workerFilter }, { additionalProperties: false }),
    responses: { 200: { description: "A page of workers.", schema: Page("workers", Worker) } },
    handle: ({ server, query }) => answerWorkerList(server, query),
  }),
];
