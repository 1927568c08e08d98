import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import {
  DisplayName,
  DurationText,
  EmailAddress,
  Id,
  Nullable,
  pageQuery,
  Slug,
  Timestamp,
} from "./primitives.ts";
import { WORKER_STATUSES } from "./worker.ts";

/** What administrators of an installation see and do. */

const closed = { additionalProperties: false } as const;

export const AdminOrganization = Type.Object(
  {
    id: Id("org"),
    name: Type.String(),
    slug: Type.String(),
    worker_group_id: Nullable(
      Type.String({
        description: "The workers of its new environments; null: the installation's first group.",
      }),
    ),
    members: Type.Integer(),
    projects: Type.Integer(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    $id: "AdminOrganization",
    examples: [
      {
        id: EXAMPLE_IDS.org,
        name: "Research",
        slug: "research",
        worker_group_id: EXAMPLE_IDS.wgrp,
        members: 3,
        projects: 1,
        created_at: "2026-11-20T08:00:00.000Z",
        updated_at: "2026-11-20T08:00:00.000Z",
      },
    ],
  },
);
export type AdminOrganization = Static<typeof AdminOrganization>;

export const CreateOrganization = Type.Object(
  {
    name: DisplayName,
    slug: Type.Optional(Slug),
    owner_email: Type.String({
      ...EmailAddress,
      description:
        "The first owner. Someone without an account gets one, and signs in by a link to this address.",
    }),
    worker_group_id: Type.Optional(Id("wgrp")),
  },
  { ...closed, $id: "CreateOrganization" },
);
export type CreateOrganization = Static<typeof CreateOrganization>;

export const AdminUser = Type.Object(
  {
    id: Id("user"),
    email: Type.String(),
    name: Nullable(Type.String()),
    is_admin: Type.Boolean(),
    suspended_at: Nullable(Timestamp),
    organizations: Type.Integer({ description: "How many they are a member of." }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    $id: "AdminUser",
    examples: [
      {
        id: EXAMPLE_IDS.user,
        email: "ada@example.com",
        name: "Ada",
        is_admin: false,
        suspended_at: null,
        organizations: 1,
        created_at: "2026-11-20T08:00:00.000Z",
        updated_at: "2026-11-20T08:00:00.000Z",
      },
    ],
  },
);
export type AdminUser = Static<typeof AdminUser>;

export const UpdateUser = Type.Object(
  {
    is_admin: Type.Optional(Type.Boolean({ description: "May use /admin/api/v1." })),
    suspended: Type.Optional(
      Type.Boolean({ description: "A suspended user's sessions are refused, and they cannot sign in." }),
    ),
  },
  { ...closed, $id: "UpdateUser" },
);
export type UpdateUser = Static<typeof UpdateUser>;

export const WorkerGroup = Type.Object(
  { id: Id("wgrp"), name: Type.String({ examples: ["gpu"] }), created_at: Timestamp },
  { $id: "WorkerGroup" },
);
export type WorkerGroup = Static<typeof WorkerGroup>;

export const CreateWorkerGroup = Type.Object({ name: DisplayName }, { ...closed, $id: "CreateWorkerGroup" });
export type CreateWorkerGroup = Static<typeof CreateWorkerGroup>;

export const EnrollmentToken = Type.Object(
  {
    id: Id("enr"),
    worker_group_id: Id("wgrp"),
    name: Type.String({ examples: ["Cluster A"] }),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    revoked_at: Nullable(Timestamp),
  },
  { $id: "EnrollmentToken" },
);
export type EnrollmentToken = Static<typeof EnrollmentToken>;

export const CreateEnrollmentToken = Type.Object(
  {
    name: DisplayName,
    worker_group_id: Id("wgrp"),
    expires_in: Type.Optional(Nullable(DurationText)),
  },
  { ...closed, $id: "CreateEnrollmentToken" },
);
export type CreateEnrollmentToken = Static<typeof CreateEnrollmentToken>;

export const CreatedEnrollmentToken = Type.Object(
  {
    ...EnrollmentToken.properties,
    enrollment_token: Type.String({ description: "The token itself; shown only here." }),
  },
  { $id: "CreatedEnrollmentToken" },
);
export type CreatedEnrollmentToken = Static<typeof CreatedEnrollmentToken>;

/** Query parameters of both families' lists of workers. */
export const workerFilter = {
  worker_group_id: Type.Optional(Id("wgrp")),
  status: Type.Optional(Type.Enum([...WORKER_STATUSES])),
};

const OnOff = Type.String({
  description: "As PostgreSQL has it: `on`, `off`, or for commits another level.",
});

export const LoopFailure = Type.Object(
  {
    loop: Type.String({ description: "The background loop, such as `fire-schedules`." }),
    environment_id: Id("env"),
    item: Type.String({
      description:
        "The item that the loop could not process: the UUID of a run, a schedule, a session …, or a digest.",
    }),
    failures: Type.Integer({ description: "In a row." }),
    cause: Type.String({ description: "The error of the last try." }),
    first_failed_at: Timestamp,
    last_failed_at: Timestamp,
    retry_at: Timestamp,
  },
  { $id: "LoopFailure" },
);
export type LoopFailure = Static<typeof LoopFailure>;

export const System = Type.Object(
  {
    version: Type.String({ description: "Of the server that answers." }),
    api_version: Type.String(),
    worker_protocol_version: Type.Integer(),
    runtime: Type.String({ description: "Node.js and its version." }),
    clock_problem: Nullable(
      Type.String({
        description:
          "Set when the clock of the server that answers is more than two seconds off PostgreSQL's, which Keelson follows.",
      }),
    ),
    database: Type.Object({
      version: Type.String(),
      fsync: OnOff,
      full_page_writes: OnOff,
      synchronous_commit: OnOff,
      synchronous_standby_names: Type.String({
        description: "The standbys that a commit waits for, as PostgreSQL is set to; empty: none.",
      }),
      standbys: Type.Integer({
        description: "How many standbys are connected, whether commits wait for them or not.",
      }),
      max_connections: Type.Integer(),
      size_bytes: Type.Integer(),
    }),
    tables: Type.Array(
      Type.Object({
        name: Type.String(),
        rows: Type.Integer({ description: "An estimate." }),
        size_bytes: Type.Integer({ description: "With indexes." }),
      }),
      { description: "The largest first." },
    ),
    blobs: Type.Object({
      bundles: Type.Object({ count: Type.Integer(), size_bytes: Type.Integer() }),
      workspaces: Type.Object({ count: Type.Integer(), size_bytes: Type.Integer() }),
    }),
    retention: Type.Record(Type.String(), Nullable(DurationText), {
      description: "How long ended objects are kept, by kind; null: forever.",
    }),
    loop_failures: Type.Array(LoopFailure, {
      description:
        "Items that a background loop could not process, the latest failure first, at most 100. The loop continues without such an item and retries it at growing intervals, up to 15 minutes.",
    }),
    migrations: Type.Array(Type.Object({ name: Type.String(), applied_at: Timestamp })),
  },
  {
    $id: "System",
    examples: [
      {
        version: "0.1.0",
        api_version: "2026-06-06",
        worker_protocol_version: 1,
        runtime: "Node.js 24.21.0",
        clock_problem: null,
        database: {
          version: "18.1",
          fsync: "on",
          full_page_writes: "on",
          synchronous_commit: "on",
          synchronous_standby_names: "ANY 1 (a, b)",
          standbys: 2,
          max_connections: 200,
          size_bytes: 48_234_496,
        },
        tables: [{ name: "runs", rows: 18_211, size_bytes: 14_680_064 }],
        blobs: {
          bundles: { count: 7, size_bytes: 337_477 },
          workspaces: { count: 112, size_bytes: 9_437_184 },
        },
        retention: { runs: "30d", sessions: "90d" },
        loop_failures: [
          {
            loop: "fire-schedules",
            environment_id: "env_01kam4r2zxf3gtqv8n5c7d9e0h",
            item: "019aa84c-0bfd-78f5-abb2-b52b0e76a411",
            failures: 3,
            cause: 'new row for relation "runs" violates check constraint "runs_priority"',
            first_failed_at: "2026-11-20T08:00:00.000Z",
            last_failed_at: "2026-11-20T08:00:03.000Z",
            retry_at: "2026-11-20T08:00:07.000Z",
          },
        ],
        migrations: [{ name: "0001_identity.sql", applied_at: "2026-11-20T08:00:00.000Z" }],
      },
    ],
  },
);
export type System = Static<typeof System>;

export const ListUsers = Type.Object(
  { ...pageQuery(), email: Type.Optional(Type.String({ maxLength: 254 })) },
  { additionalProperties: false },
);
export type ListUsers = Static<typeof ListUsers>;

export const ListWorkers = Type.Object({ ...pageQuery(), ...workerFilter }, { additionalProperties: false });
export type ListWorkers = Static<typeof ListWorkers>;
