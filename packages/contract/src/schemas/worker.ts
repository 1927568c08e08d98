import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { LIMITS } from "../limits.ts";
import { ISOLATIONS } from "../workspaces.ts";
import { PlatformObject } from "./platform.ts";
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
    node_version: Nullable(Type.String({ description: "Null for a worker that did not say." })),
    platform: Nullable(PlatformObject),
    isolation: Nullable(
      Type.Enum([...ISOLATIONS], {
        description:
          "The strongest tier for workspaces that held when the agent attacked it at its start. Null for a worker that takes no workspaces.",
      }),
    ),
    isolation_problem: Nullable(
      Type.String({
        description: "Why the worker has no `namespace` tier. Null when it has one, or takes no workspaces.",
      }),
    ),
    task_isolation: Nullable(
      Type.Enum([...ISOLATIONS], {
        description:
          "The strongest tier for tasks. Null for an agent of a version in which tasks have the process tier alone.",
      }),
    ),
    task_isolation_problem: Nullable(
      Type.String({
        description: "Why the worker runs no tasks in the `namespace` tier. Null when it does.",
      }),
    ),
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
        node_version: "24.21.0",
        platform: { os: "linux", arch: "x64", libc: "glibc" },
        isolation: "process",
        isolation_problem: "bubblewrap is not installed.",
        task_isolation: "process",
        task_isolation_problem: "bubblewrap is not installed.",
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
  {
    token: Type.String(),
    expires_at: Timestamp,
    expires_in: Type.Optional(
      Type.String({
        description:
          "How long it is valid from now, as a duration: for a worker whose clock differs from the server's.",
      }),
    ),
    worker: Worker,
  },
  { $id: "MintedWorkerToken" },
);
export type MintedWorkerToken = Static<typeof MintedWorkerToken>;

export const RegisterWorker = Type.Object(
  {
    name: Type.Optional(WorkerName),
    capacity: WorkerCapacity,
    labels: Type.Optional(Labels),
    version: Type.Optional(Type.String({ maxLength: 128 })),
    node_version: Type.Optional(
      Type.String({
        pattern: "^[0-9]{1,5}\\.[0-9]{1,5}\\.[0-9]{1,5}$",
        description:
          "With `platform`, says which archives the worker runs. Without both it runs bundles of format 1 only.",
      }),
    ),
    platform: Type.Optional(PlatformObject),
    isolation: Type.Optional(
      Type.Enum([...ISOLATIONS], {
        description:
          "The strongest tier for workspaces that withstood the agent's attacks. Absent for a worker that takes no workspaces.",
      }),
    ),
    isolation_problem: Type.Optional(
      Type.String({
        maxLength: LIMITS.isolationProblemCharacters,
        description: 'Why there is no `namespace` tier. Kept with `isolation: "process"` only.',
      }),
    ),
    task_isolation: Type.Optional(
      Type.Enum([...ISOLATIONS], {
        description:
          "The strongest tier in which the agent runs tasks, as it tried it. Left out, tasks have the process tier alone.",
      }),
    ),
    task_isolation_problem: Type.Optional(
      Type.String({
        maxLength: LIMITS.isolationProblemCharacters,
        description:
          'Why the agent runs no tasks in the `namespace` tier. Kept with `task_isolation: "process"` only.',
      }),
    ),
    worker_protocol_version: Type.Integer(),
  },
  { additionalProperties: false, $id: "RegisterWorker" },
);
export type RegisterWorker = Static<typeof RegisterWorker>;

/** One version of one secret, never its value. Version numbers of a secret only grow, and a secret's id is used once. */
export const SecretVersion = Type.Object(
  { id: Id("sec"), version: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) },
  { additionalProperties: false },
);
export type SecretVersion = Static<typeof SecretVersion>;

/** A version that a process of the worker was given. */
export const HeldSecret = Type.Object(
  { environment_id: Id("env"), ...SecretVersion.properties },
  { additionalProperties: false },
);
export type HeldSecret = Static<typeof HeldSecret>;

export const WorkerHeartbeat = Type.Object(
  {
    in_use: Type.Optional(WorkerCapacity),
    held_secrets: Type.Optional(
      Type.Array(HeldSecret, {
        maxItems: LIMITS.heldSecrets,
        description: "Secret versions in the memory of the worker's processes.",
      }),
    ),
  },
  { additionalProperties: false, $id: "WorkerHeartbeat" },
);
export type WorkerHeartbeat = Static<typeof WorkerHeartbeat>;

export const WorkerHeard = Type.Object(
  {
    ...Worker.properties,
    superseded_secrets: Type.Array(HeldSecret, {
      description:
        "The versions in `held_secrets` that were rotated, revoked or deleted. The worker starts no new runs in processes that hold them.",
    }),
  },
  { $id: "WorkerHeard" },
);
export type WorkerHeard = Static<typeof WorkerHeard>;
