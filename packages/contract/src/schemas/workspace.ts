import { Type, type Static } from "typebox";
import { LIMITS } from "../limits.ts";
import {
  ISOLATIONS,
  LEFT_OUT_REASONS,
  MATERIALIZATION_STATUSES,
  VERSION_CAUSES,
  WORKSPACE_STATUSES,
} from "../workspaces.ts";
import {
  AllTags,
  DeclaredId,
  Digest,
  DurationText,
  Id,
  IdempotencyKey,
  JsonObject,
  Nullable,
  pageQuery,
  Tags,
  Timestamp,
} from "./primitives.ts";
import { ExternalId } from "./session.ts";

/** A workspace put on a machine: at most one of a workspace is neither stopped nor failed. */
export const Materialization = Type.Object(
  {
    id: Id("mat"),
    status: Type.Enum([...MATERIALIZATION_STATUSES]),
    isolation: Nullable(
      Type.Enum([...ISOLATIONS], { description: "The tier that the worker confirmed; null until live." }),
    ),
    worker_id: Nullable(Id("wkr")),
    base_version_id: Id("wsv"),
    dirty: Type.Boolean({
      description: "Its files differ from the current version, as last heard; always so while `uncommitted`.",
    }),
    started_at: Nullable(Timestamp),
    error: Nullable(Type.Object({ message: Type.String() })),
  },
  { $id: "Materialization" },
);
export type Materialization = Static<typeof Materialization>;

export const Workspace = Type.Object(
  {
    id: Id("ws"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    external_id: Nullable(Type.String()),
    sandbox: Type.String({ description: "Declared id of the sandbox it was made from." }),
    status: Type.Enum([...WORKSPACE_STATUSES]),
    current_version_id: Id("wsv"),
    materialization: Nullable(Materialization),
    status_reason: Nullable(
      Type.Object({
        kind: Type.Enum(["no_worker", "worker_busy", "isolation", "uncommitted"]),
        message: Type.String(),
        details: Nullable(JsonObject),
      }),
    ),
    metadata: JsonObject,
    tags: Tags,
    last_activity_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Workspace" },
);
export type Workspace = Static<typeof Workspace>;

const workspaceFields = {
  external_id: Type.Optional(Nullable(ExternalId)),
  from_version_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: "Fork: begins with the files of this version, of any workspace of the environment.",
    }),
  ),
  metadata: Type.Optional(JsonObject),
  tags: Type.Optional(Tags),
  idempotency_key: Type.Optional(IdempotencyKey),
  idempotency_key_ttl: Type.Optional(DurationText),
};

/** `sandbox` defaults to that of the forked workspace, or to `default`. */
export const CreateWorkspace = Type.Object(
  { sandbox: Type.Optional(DeclaredId), ...workspaceFields },
  { additionalProperties: false, $id: "CreateWorkspace" },
);
export type CreateWorkspace = Static<typeof CreateWorkspace>;

export const CreateSandboxWorkspace = Type.Object(workspaceFields, {
  additionalProperties: false,
  $id: "CreateSandboxWorkspace",
});
export type CreateSandboxWorkspace = Static<typeof CreateSandboxWorkspace>;

/** Each field that is there replaces what was. */
export const UpdateWorkspace = Type.Object(
  { metadata: Type.Optional(JsonObject), tags: Type.Optional(Tags) },
  { additionalProperties: false, $id: "UpdateWorkspace" },
);
export type UpdateWorkspace = Static<typeof UpdateWorkspace>;

export const VersionCause = Type.Object({
  kind: Type.Enum([...VERSION_CAUSES]),
  id: Nullable(Type.String({ description: "The exec, PTY, run or materialization, where there is one." })),
});
export type VersionCause = Static<typeof VersionCause>;

/** Drops files that no version has: said twice, so that nobody does it by mistake. */
export const DiscardWorkspace = Type.Object(
  { confirm: Type.Literal(true, { description: "The files that could not be committed are lost." }) },
  { additionalProperties: false, $id: "DiscardWorkspace" },
);
export type DiscardWorkspace = Static<typeof DiscardWorkspace>;

/** Of what a version could not keep as it was, it names so many; the counts have all. */
const namedPath = Type.String({ maxLength: LIMITS.namedPathCharacters, examples: ["caf\\xe9.txt"] });
export const VersionNotes = {
  renamed: Type.Array(namedPath, {
    maxItems: LIMITS.namedPaths,
    description:
      "Files whose name or link target is not UTF-8: in this version the bytes are `\\xNN` escapes. The first 100.",
  }),
  renamed_count: Type.Integer({ minimum: 0 }),
  left_out: Type.Array(Type.Object({ path: namedPath, reason: Type.Enum([...LEFT_OUT_REASONS]) }), {
    maxItems: LIMITS.namedPaths,
    description: "Entries of the folder that this version does not have. The first 100.",
  }),
  left_out_count: Type.Integer({ minimum: 0 }),
} as const;

/** The files of a workspace at one moment. Immutable. */
export const WorkspaceVersion = Type.Object(
  {
    id: Id("wsv"),
    workspace_id: Id("ws"),
    number: Type.Integer({ description: "1, 2, … in its workspace." }),
    parent_version_id: Nullable(Id("wsv")),
    status: Type.Enum(["ready"]),
    cause: VersionCause,
    digest: Digest,
    file_count: Type.Integer(),
    size_bytes: Type.Integer(),
    ...VersionNotes,
    created_at: Timestamp,
  },
  { $id: "WorkspaceVersion" },
);
export type WorkspaceVersion = Static<typeof WorkspaceVersion>;

export const ListWorkspaces = Type.Object(
  {
    ...pageQuery(),
    external_id: Type.Optional(ExternalId),
    sandbox: Type.Optional(DeclaredId),
    tag: AllTags,
  },
  { additionalProperties: false },
);
export type ListWorkspaces = Static<typeof ListWorkspaces>;
