import { Type, type Static } from "typebox";
import { RUN_PERMISSIONS } from "../permissions.ts";
import { EXECUTION_MODES } from "../runs.ts";
import { SESSION_ON_FAILURE, WHILE_BUSY } from "../sessions.ts";
import { PlatformObject } from "./platform.ts";
import {
  anyOf,
  DeclaredId,
  Digest,
  DurationText,
  Id,
  JsonObject,
  Nullable,
  pageQuery,
  QueueName,
  Timestamp,
} from "./primitives.ts";
import { RetryPolicy } from "./retry-policy.ts";
import { ScheduleDeclaration } from "./schedule.ts";
import { SecretName } from "./secret.ts";
import { SandboxDeclaration } from "./sandbox.ts";
import { TaskFolders, TaskIsolation } from "./task-folder.ts";

/** A task or actor as its author declared it. */
export const EntrypointDeclaration = Type.Object(
  {
    id: DeclaredId,
    description: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
    payload_schema: Type.Optional(Nullable(JsonObject)),
    queue: Type.Optional(Nullable(QueueName)),
    retry: Type.Optional(Nullable(RetryPolicy)),
    max_duration: Type.Optional(Nullable(DurationText)),
    ttl: Type.Optional(Nullable(DurationText)),
    sandbox: Type.Optional(Nullable(DeclaredId)),
    secrets: Type.Optional(
      Type.Array(SecretName, {
        maxItems: 100,
        uniqueItems: true,
        description: "Names of the secrets that its runs get.",
      }),
    ),
    permissions: Type.Optional(
      Type.Array(Type.Enum([...RUN_PERMISSIONS]), {
        maxItems: RUN_PERMISSIONS.length,
        uniqueItems: true,
        description:
          "The permissions of its runs' own credentials in their environment. Default: all permissions that a run can have, except `schedules.write`.",
      }),
    ),
    execution: Type.Optional(Type.Enum([...EXECUTION_MODES])),
    mcp: Type.Optional(
      Nullable(
        Type.Object(
          { description: Type.String({ minLength: 1, maxLength: 2000 }) },
          {
            additionalProperties: false,
            description: "The task is a tool of `POST /mcp`, described to models like this.",
          },
        ),
      ),
    ),
    session_on_failure: Type.Optional(
      Type.Enum([...SESSION_ON_FAILURE], {
        description:
          "Of an actor: what happens to an open session when a run of it fails. `keep_open`: the next input starts the next run. " +
          "`end`: the session ends as `failed`. Without it: `end`.",
      }),
    ),
    while_busy: Type.Optional(
      Type.Enum([...WHILE_BUSY], {
        description:
          "Of an actor: what an input that does not say `while_busy` does while a turn is live and no run waits for it. Without it: `enqueue`.",
      }),
    ),
    memory_mb: Type.Optional(Nullable(Type.Integer({ minimum: 32, maximum: 1_048_576 }))),
    isolation: Type.Optional(TaskIsolation),
    folders: Type.Optional(TaskFolders),
  },
  { additionalProperties: false, $id: "EntrypointDeclaration" },
);
export type EntrypointDeclaration = Static<typeof EntrypointDeclaration>;

export const QueueDeclaration = Type.Object(
  {
    name: QueueName,
    concurrency_limit: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 100_000 }))),
    concurrency_key_limit: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description: "Runs at once for each concurrency_key; default 1.",
        }),
      ),
    ),
  },
  { additionalProperties: false, $id: "QueueDeclaration" },
);
export type QueueDeclaration = Static<typeof QueueDeclaration>;

/** What a bundle declares. */
export const DeploymentManifest = Type.Object(
  {
    tasks: Type.Array(EntrypointDeclaration, { maxItems: 1000 }),
    actors: Type.Optional(Type.Array(EntrypointDeclaration, { maxItems: 1000 })),
    queues: Type.Optional(Type.Array(QueueDeclaration, { maxItems: 1000 })),
    schedules: Type.Optional(Type.Array(ScheduleDeclaration, { maxItems: 1000 })),
    sandboxes: Type.Optional(Type.Array(SandboxDeclaration, { maxItems: 200 })),
  },
  { additionalProperties: false, $id: "DeploymentManifest" },
);
export type DeploymentManifest = Static<typeof DeploymentManifest>;

export const GitInfo = Type.Object(
  {
    commit: Type.Optional(Nullable(Type.String({ maxLength: 64 }))),
    branch: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
    dirty: Type.Optional(Nullable(Type.Boolean())),
  },
  { additionalProperties: false, $id: "GitInfo" },
);

export const CreateDeployment = Type.Object(
  {
    manifest: DeploymentManifest,
    bundle_digest: Digest,
    bundle_format_version: Type.Integer({
      minimum: 1,
      description: "1: `bundle_digest` is of one module. 2: of the index of an archive.",
    }),
    worker_protocol_version: Type.Integer({ minimum: 1 }),
    node_version: Type.Optional(
      Type.String({
        pattern: "^[0-9]{1,5}\\.[0-9]{1,5}\\.[0-9]{1,5}$",
        description:
          "Of an archive, as its index says. Send it so that 409 `bundle_missing` can say that no worker runs the archive before its index is uploaded.",
      }),
    ),
    platform: Type.Optional(Nullable(PlatformObject)),
    git: Type.Optional(Nullable(GitInfo)),
    idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { additionalProperties: false, $id: "CreateDeployment" },
);
export type CreateDeployment = Static<typeof CreateDeployment>;

export const DEPLOYMENT_STATUSES = ["pending", "ready", "failed"] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

export const ListDeployments = Type.Object(
  { ...pageQuery(), status: anyOf(DEPLOYMENT_STATUSES) },
  { additionalProperties: false },
);
export type ListDeployments = Static<typeof ListDeployments>;

/** An immutable version of an environment's code. */
export const Deployment = Type.Object(
  {
    id: Id("dep"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    version: Type.String({ description: "`YYYYMMDD.N`" }),
    status: Type.Enum([...DEPLOYMENT_STATUSES]),
    is_current: Type.Boolean(),
    promoted_at: Nullable(Timestamp),
    api_version: Type.String(),
    cli_version: Nullable(Type.String()),
    sdk_version: Nullable(Type.String()),
    client_version: Nullable(Type.String()),
    bundle_format_version: Type.Integer(),
    worker_protocol_version: Type.Integer(),
    bundle: Type.Object({
      digest: Digest,
      size_bytes: Type.Integer({ description: "With all files of an archive." }),
    }),
    node_version: Nullable(
      Type.String({
        description: "Of the Node.js that the archive was made with; null for a bundle of format 1.",
      }),
    ),
    platform: Nullable(PlatformObject),
    tasks: Type.Array(EntrypointDeclaration),
    actors: Type.Array(EntrypointDeclaration),
    sandboxes: Type.Array(SandboxDeclaration),
    schedules: Type.Array(ScheduleDeclaration),
    queues: Type.Array(QueueDeclaration),
    git: Nullable(GitInfo),
    error: Nullable(Type.Object({ message: Type.String(), stack: Nullable(Type.String()) })),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Deployment" },
);
export type Deployment = Static<typeof Deployment>;

export const DEPLOYMENT_EVENT_KINDS = [
  "deployment.created",
  "deployment.ready",
  "deployment.failed",
  "deployment.promoted",
  "deployment.demoted",
] as const;
export type DeploymentEventKind = (typeof DEPLOYMENT_EVENT_KINDS)[number];

export const DeploymentEvent = Type.Object(
  {
    id: Type.String({ description: "A decimal number, 1 for the deployment's first event." }),
    deployment_id: Id("dep"),
    kind: Type.Enum([...DEPLOYMENT_EVENT_KINDS]),
    message: Type.String(),
    attributes: JsonObject,
    at: Timestamp,
  },
  { $id: "DeploymentEvent" },
);
export type DeploymentEvent = Static<typeof DeploymentEvent>;

export const UploadedBundle = Type.Object(
  { digest: Digest, size_bytes: Type.Integer() },
  { $id: "UploadedBundle" },
);
export type UploadedBundle = Static<typeof UploadedBundle>;
