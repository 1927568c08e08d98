import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { DurationText, Id, Nullable, Timestamp } from "./primitives.ts";
import { WORKER_STATUSES, Worker, WorkerCapacity } from "./worker.ts";

/** What those see and do who decide how many workers there are. */

const counts = Object.fromEntries(WORKER_STATUSES.map((status) => [status, Type.Integer()])) as {
  [Status in (typeof WORKER_STATUSES)[number]]: ReturnType<typeof Type.Integer>;
};

export const GroupCapacity = Type.Object(
  {
    id: Id("wgrp"),
    name: Type.String(),
    queued: Type.Integer({
      description: "Runs that a free slot would take at once; at most 100,000 are counted.",
    }),
    running: Type.Integer({ description: "Runs that have a slot of a worker." }),
    oldest_queued_age: Nullable(
      Type.String({ ...DurationText, description: "How long the longest-queued run has waited for a slot." }),
    ),
    workspaces_requested: Type.Integer({ description: "Workspaces that wait for a machine." }),
    workspaces_live: Type.Integer(),
    deployments_pending: Type.Integer({ description: "Deployments that wait for a worker to check them." }),
    workers: Type.Object(counts),
    slots: WorkerCapacity,
    free_slots: WorkerCapacity,
    recommended_workers: Type.Integer({
      description:
        "The number of workers, of the same size as the group's workers, that the queued and running runs need; 0 without work.",
    }),
    at: Timestamp,
  },
  {
    $id: "GroupCapacity",
    examples: [
      {
        id: EXAMPLE_IDS.wgrp,
        name: "default",
        queued: 120,
        running: 64,
        oldest_queued_age: "4s",
        workspaces_requested: 0,
        workspaces_live: 3,
        deployments_pending: 0,
        workers: { registered: 0, active: 4, draining: 0, drained: 0, lost: 0 },
        slots: { executions: 64, workspaces: 16 },
        free_slots: { executions: 0, workspaces: 13 },
        recommended_workers: 12,
        at: "2026-11-20T09:15:00.123Z",
      },
    ],
  },
);
export type GroupCapacity = Static<typeof GroupCapacity>;

export const DrainWorkers = Type.Object(
  { count: Type.Integer({ minimum: 1, maximum: 1000, description: "How many workers to drain." }) },
  { additionalProperties: false, $id: "DrainWorkers" },
);
export type DrainWorkers = Static<typeof DrainWorkers>;

export const DrainedWorkers = Type.Object(
  {
    workers: Type.Array(Worker, {
      description:
        "The workers that are drained, the least busy first: the requested number, or all that there are.",
    }),
  },
  { $id: "DrainedWorkers" },
);
export type DrainedWorkers = Static<typeof DrainedWorkers>;
