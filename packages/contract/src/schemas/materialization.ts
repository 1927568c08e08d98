import { Type, type Static } from "typebox";
import { ISOLATIONS, VERSION_CAUSES } from "../workspaces.ts";
import { Digest, DurationText, Id, Nullable, Timestamp } from "./primitives.ts";
import {
  CommittedEnd,
  HeldProcess,
  ProcessControl,
  ProcessId,
  ProcessInput,
  ProcessStart,
} from "./process.ts";
import { SandboxSpec } from "./sandbox.ts";
import { VersionNotes, WorkspaceVersion } from "./workspace.ts";

/**
 * The worker protocol for workspaces.
 *
 * The life of a materialization, as its worker sees it:
 *
 *  1. `workspaces/lease` gives it, `preparing`, with an epoch, the base version and the sandbox's specification. The
 *     worker fetches the manifest blob and what it names (`GET blobs/{digest}?environment_id=`), writes the tree into a
 *     folder of its own, runs `setup` when the lease has one and commits the result with its `setup_digest`, probes the
 *     isolation and, when it is at least what the specification accepts, answers `workspaces/live`. A worker that
 *     cannot give the isolation, or fails otherwise, answers `workspaces/failed` with what went wrong. Processes that wait
 *     for the workspace come with the lease: the worker makes them ready meanwhile and names them in `workspaces/live`,
 *     whose answer says which of them are to begin.
 *  2. While live it runs the execs and PTYs that the lease poll brings. What changed is committed when an exec or PTY
 *     ends, when a run in it ends or suspends, and at the stop: `PUT blobs/{digest}` first, each piece and then the
 *     manifest, then `workspaces/commit` with the manifest's digest. An unchanged tree makes no version: the answer is
 *     the current one with `created` false. A commit that names blobs which are gone is 409 `invalid_state` with
 *     `details.missing_blobs`: store them again, then repeat it.
 *  3. `workspaces/renew` every third of `lease_duration`, one call for all. `busy` keeps a materialization from being
 *     stopped as idle while something runs in it that has no exec or PTY. What is in `lost` has another owner now or
 *     none: end its processes, commit nothing, and name its folder in `quarantined`; drop it when it is not given back,
 *     unless it has changes that nobody repeats.
 *  4. A stop comes with the poll or the renewal: end the processes, commit (unless `mode` is `discard`), then
 *     `workspaces/stopped`. A worker that drains stops what it holds the same way, on its own.
 *  5. What cannot be committed at the stop is kept: the worker answers `workspaces/uncommitted` with the reason, keeps the
 *     folder in quarantine, and tries again on its own; once a version has everything it answers `workspaces/stopped`. A
 *     `stop` of mode `commit` means: try now. The lease does not run out meanwhile, and nobody else gets the workspace. A
 *     process that begins names what it has in `quarantined`: what is still its, or was of a worker of its group before, is
 *     given back with `status` uncommitted; what is in `discarded` is to be removed; the rest is kept.
 *
 * Every call about a materialization carries its `epoch`; under a superseded one it is refused whole with 409
 * `lease_lost`. Time only decides when another worker may take over: a late call of the newest epoch is as good as a
 * punctual one. A materialization whose worker falls silent before it is live is given to another; one that was live
 * fails, its processes are `lost`, and the next one begins with the last committed version. When that worker is back before
 * anything has gone on without its files, and names the folder in `quarantined`, it is given back with `status` uncommitted.
 *
 * The poll is told what the worker has and answers what it lacks, so an answer that was lost is simply given again:
 * leases that are not in `held`, stops and controls it has not acknowledged, input after the offsets it names. A
 * worker process that begins again with the same worker id is therefore given its former materializations back, with
 * `status` live: it goes on with what its supervisors kept alive, or answers `failed`.
 */
const materializationFields = {
  materialization_id: Id("mat"),
  environment_id: Id("env"),
  epoch: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
};
const strict = { additionalProperties: false } as const;

export const HeldMaterialization = Type.Object(
  {
    ...materializationFields,
    stopping: Type.Boolean({ description: "The worker knows that it is to stop." }),
    processes: Type.Array(HeldProcess, { maxItems: 1000 }),
  },
  { ...strict, $id: "HeldMaterialization" },
);
export type HeldMaterialization = Static<typeof HeldMaterialization>;

export const WorkspaceLeaseRequest = Type.Object(
  {
    limit: Type.Integer({ minimum: 0, maximum: 1000, description: "Materializations it has room for." }),
    wait: Type.Optional(DurationText),
    isolation: Type.Enum([...ISOLATIONS], {
      description: "The strongest that works on this machine; materializations that need more go elsewhere.",
    }),
    held: Type.Array(HeldMaterialization, { maxItems: 1000 }),
    begins_given: Type.Optional(
      Type.Boolean({
        description:
          "A process that is created in what it holds while this poll waits may be counted as started from then on: `given` says so.",
      }),
    ),
    quarantined: Type.Optional(
      Type.Array(Type.Object(materializationFields, strict), {
        maxItems: 1000,
        description:
          "Folders that the worker found complete, or with files that no version has, and does not hold.",
      }),
    ),
  },
  { ...strict, $id: "WorkspaceLeaseRequest" },
);
export type WorkspaceLeaseRequest = Static<typeof WorkspaceLeaseRequest>;

export const LeasedMaterialization = Type.Object(
  {
    ...materializationFields,
    project_id: Id("proj"),
    workspace_id: Id("ws"),
    status: Type.Enum(["preparing", "live", "stopping", "uncommitted"]),
    expires_at: Timestamp,
    base: Type.Object({
      version_id: Id("wsv"),
      digest: Digest,
      manifest_digest: Digest,
    }),
    sandbox: Type.Object({ declared_id: Type.String(), ...SandboxSpec.properties }),
    setup: Nullable(
      Type.Object({
        digest: Digest,
        commands: Type.Array(Type.String(), {
          description: "Run by `sh -c` in the root, one after the other.",
        }),
      }),
    ),
  },
  { $id: "LeasedMaterialization" },
);
export type LeasedMaterialization = Static<typeof LeasedMaterialization>;

/** `discard`: the workspace is being deleted, nothing more is to be committed. `commit` of an uncommitted one: try now. */
export const MaterializationStop = Type.Object(
  { ...materializationFields, mode: Type.Enum(["commit", "discard"]) },
  { $id: "MaterializationStop" },
);
export type MaterializationStop = Static<typeof MaterializationStop>;

export const WorkspaceLeaseResponse = Type.Object(
  {
    lease_duration: DurationText,
    materializations: Type.Array(LeasedMaterialization),
    stops: Type.Array(MaterializationStop),
    lost: Type.Array(Id("mat")),
    discarded: Type.Array(Id("mat"), {
      description:
        "Materializations that the worker holds or has in quarantine, whose files are no longer needed.",
    }),
    processes: Type.Array(ProcessStart, {
      description:
        "Processes of live workspaces, and processes that wait for a workspace in this response: the worker names it in `live` later, or gets it again.",
    }),
    inputs: Type.Array(ProcessInput),
    controls: Type.Array(ProcessControl),
  },
  { $id: "WorkspaceLeaseResponse" },
);
export type WorkspaceLeaseResponse = Static<typeof WorkspaceLeaseResponse>;

/**
 * A leased execution whose run has a `workspace_id` attaches to it before its code begins: the workspace is this worker's
 * from then on, unless another has it by now. Asked again it is answered the same. What is answered may come by the poll
 * as well.
 */
export const AttachWorkspace = Type.Object(
  {
    run_id: Id("run"),
    environment_id: Id("env"),
    lease_id: Id("lease"),
    epoch: Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: "Of the execution's lease.",
    }),
  },
  { ...strict, $id: "AttachWorkspace" },
);
export type AttachWorkspace = Static<typeof AttachWorkspace>;

export const AttachedWorkspace = Type.Object(
  { lease_duration: DurationText, materialization: LeasedMaterialization },
  { $id: "AttachedWorkspace" },
);
export type AttachedWorkspace = Static<typeof AttachedWorkspace>;

export const RenewMaterializations = Type.Object(
  {
    materializations: Type.Array(
      Type.Object({ ...materializationFields, dirty: Type.Boolean(), busy: Type.Boolean() }, strict),
      { maxItems: 1000 },
    ),
  },
  { ...strict, $id: "RenewMaterializations" },
);
export type RenewMaterializations = Static<typeof RenewMaterializations>;

export const RenewMaterializationsResponse = Type.Object(
  {
    expires_at: Timestamp,
    renewed: Type.Array(Id("mat")),
    lost: Type.Array(Id("mat")),
    stops: Type.Array(MaterializationStop),
  },
  { $id: "RenewMaterializationsResponse" },
);
export type RenewMaterializationsResponse = Static<typeof RenewMaterializationsResponse>;

export const MaterializationLive = Type.Object(
  {
    ...materializationFields,
    isolation: Type.Enum([...ISOLATIONS]),
    starts: Type.Optional(
      Type.Array(ProcessId, {
        maxItems: 1000,
        description: "Processes that came with the lease and begin once the answer names them.",
      }),
    ),
  },
  { ...strict, $id: "MaterializationLive" },
);
export type MaterializationLive = Static<typeof MaterializationLive>;

export const LiveWorkspace = Type.Object(
  {
    materialization_id: Id("mat"),
    status: Type.String(),
    started: Type.Array(ProcessId, {
      description: "The accepted `starts`: no other worker gets them. Do not begin the others.",
    }),
  },
  { $id: "LiveWorkspace" },
);
export type LiveWorkspace = Static<typeof LiveWorkspace>;

export const MaterializationStopped = Type.Object(materializationFields, {
  ...strict,
  $id: "MaterializationStopped",
});
export type MaterializationStopped = Static<typeof MaterializationStopped>;

/** `error` says why the files could not be committed, and what to do. */
export const MaterializationUncommitted = Type.Object(
  {
    ...materializationFields,
    error: Type.Object({ message: Type.String({ minLength: 1, maxLength: 8192 }) }, strict),
  },
  { ...strict, $id: "MaterializationUncommitted" },
);
export type MaterializationUncommitted = Static<typeof MaterializationUncommitted>;

export const MaterializationFailed = Type.Object(
  {
    ...materializationFields,
    error: Type.Object({ message: Type.String({ minLength: 1, maxLength: 8192 }) }, strict),
  },
  { ...strict, $id: "MaterializationFailed" },
);
export type MaterializationFailed = Static<typeof MaterializationFailed>;

export const CommitWorkspace = Type.Object(
  {
    ...materializationFields,
    commit_id: Type.String({
      minLength: 1,
      maxLength: 64,
      description: "Client-made; a repeat returns the version of the first.",
    }),
    parent_version_id: Type.String({
      maxLength: 64,
      description: "The version that the tree was changed from: the last one the worker knows.",
    }),
    manifest_digest: Digest,
    cause: Type.Object(
      {
        kind: Type.Enum([...VERSION_CAUSES]),
        id: Type.Optional(Nullable(Type.String({ maxLength: 64 }))),
      },
      strict,
    ),
    ended: Type.Optional(
      Type.Array(CommittedEnd, {
        maxItems: 1000,
        description:
          "Ended processes whose changes are in this commit: they are stored as ended with it, or not at all.",
      }),
    ),
    setup_digest: Type.Optional(
      Nullable(Type.String({ pattern: "^[0-9a-f]{64}$", description: "This is the result of the setup." })),
    ),
    notes: Type.Optional(
      Type.Object(VersionNotes, {
        ...strict,
        description: "Entries of the folder that the tree has under another name, or not at all.",
      }),
    ),
  },
  { ...strict, $id: "CommitWorkspace" },
);
export type CommitWorkspace = Static<typeof CommitWorkspace>;

export const CommittedWorkspace = Type.Object(
  { version: WorkspaceVersion, created: Type.Boolean() },
  { $id: "CommittedWorkspace" },
);
export type CommittedWorkspace = Static<typeof CommittedWorkspace>;

/** Where the materialization is now. */
export const MaterializationAnswer = Type.Object(
  { materialization_id: Id("mat"), status: Type.String() },
  { $id: "MaterializationAnswer" },
);
export type MaterializationAnswer = Static<typeof MaterializationAnswer>;

export const StoredBlob = Type.Object({ digest: Digest, size_bytes: Type.Integer() }, { $id: "StoredBlob" });
export type StoredBlob = Static<typeof StoredBlob>;
