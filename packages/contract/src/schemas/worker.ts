import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { Id, JsonObject, Nullable, Timestamp } from "./primitives.ts";

export const WORKER_STATUSES = ["registered", "active", "draining", "drained", "lost"] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

const WorkerName = Type.String({ minLength: 1, maxLength: 128 });
const Labels = Type.Record(Type.String(), Type.String({ maxLength: 256 }));

export const WorkerCapacity = Type.Object(
  {
    executions: Type.Integer({ minimum: 0, maximum: 100_000 }),
    workspaces: Type.Integer({ minimum: 0, maximum: 100_000 }),
  },
  { additionalProperties: false },
);

export const Worker = Type.Object(
  {
    id: Id("wkr"),
    name: Type.String(),
    worker_group_id: Id("wgrp"),
    status: Type.Enum([...WORKER_STATUSES]),
    capacity: WorkerCapacity,
    in_use: WorkerCapacity,
    labels: JsonObject,
    protocol_version: Type.Integer(),
    version: Nullable(Type.String()),
    last_seen_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    $id: "Worker",
    examples: [
      {
        id: EXAMPLE_IDS.wkr,
        name: "build-3",
        worker_group_id: EXAMPLE_IDS.wgrp,
        status: "active",
        capacity: { executions: 16, workspaces: 4 },
        in_use: { executions: 3, workspaces: 1 },
        labels: { zone: "a" },
        protocol_version: 1,
        version: "0.1.0",
        last_seen_at: "2026-11-20T09:15:00.123Z",
        created_at: "2026-11-20T08:00:00.000Z",
        updated_at: "2026-11-20T09:15:00.123Z",
      },
    ],
  },
);
export type Worker = Static<typeof Worker>;

/** First contact by enrollment token; later by the worker's id and its present bearer token. */
export const MintWorkerToken = Type.Object(
  {
    enrollment_token: Type.Optional(Type.String({ maxLength: 128 })),
    worker_id: Type.Optional(Id("wkr")),
    token: Type.Optional(Type.String({ maxLength: 128 })),
    name: Type.Optional(WorkerName),
    worker_protocol_version: Type.Integer(),
  },
  { additionalProperties: false, $id: "MintWorkerToken" },
);
export type MintWorkerToken = Static<typeof MintWorkerToken>;

export const MintedWorkerToken = Type.Object(
  { token: Type.String(), expires_at: Timestamp, worker: Worker },
  { $id: "MintedWorkerToken" },
);
export type MintedWorkerToken = Static<typeof MintedWorkerToken>;

export const RegisterWorker = Type.Object(
  {
    name: Type.Optional(WorkerName),
    capacity: WorkerCapacity,
    labels: Type.Optional(Labels),
    version: Type.Optional(Type.String({ maxLength: 128 })),
    worker_protocol_version: Type.Integer(),
  },
  { additionalProperties: false, $id: "RegisterWorker" },
);
export type RegisterWorker = Static<typeof RegisterWorker>;

export const WorkerHeartbeat = Type.Object(
  { in_use: Type.Optional(WorkerCapacity) },
  { additionalProperties: false, $id: "WorkerHeartbeat" },
);
export type WorkerHeartbeat = Static<typeof WorkerHeartbeat>;
