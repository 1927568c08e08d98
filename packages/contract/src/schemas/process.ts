import { Type, type Static } from "typebox";
import { EXEC_STATUSES, ON_LOST, PROCESS_SIGNALS, PROCESS_STREAMS, PTY_STATUSES } from "../workspaces.ts";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { LIMITS } from "../limits.ts";
import { DurationText, Id, IdempotencyKey, Nullable, Timestamp } from "./primitives.ts";

/** Execs and PTYs: as callers see them, and as their worker is told of them. */

const Argv = Type.Array(Type.String({ maxLength: LIMITS.argvBytes }), {
  minItems: 1,
  maxItems: LIMITS.argvItems,
  description: "The program and its arguments; no shell is between.",
});
const Environment = Type.Record(
  Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,127}$" }),
  Type.String({ maxLength: 32_768 }),
  {
    additionalProperties: false,
    description: "Names are letters, digits and underscores, not a digit first.",
  },
);
const Cwd = Type.String({
  maxLength: LIMITS.workspacePathBytes,
  description: "A folder of the workspace; default is its root.",
});
const Side = Type.Integer({ minimum: 1, maximum: 1000 });
const Base64 = Type.String({ description: "base64" });
const strict = { additionalProperties: false } as const;

const OutputState = Type.Object({
  bytes: Type.Integer(),
  earliest_cursor: Type.String({ description: "Older output was deleted." }),
});

const execFields = {
  id: Id("exec"),
  workspace_id: Id("ws"),
  command: Type.Array(Type.String()),
  cwd: Type.String(),
  env_names: Type.Array(Type.String()),
  status: Type.Enum([...EXEC_STATUSES]),
  exit_code: Nullable(Type.Integer()),
  signal: Nullable(Type.String()),
  timeout: Nullable(DurationText),
  timed_out: Type.Boolean(),
  on_lost: Type.Enum([...ON_LOST]),
  reruns: Type.Integer({ description: "How often it was started again, because infrastructure took it." }),
  error: Nullable(Type.Object({ message: Type.String() })),
  version_id: Nullable(Id("wsv")),
  started_at: Nullable(Timestamp),
  finished_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** A command in a workspace. `exit_code` and `signal` are never both there. */
export const Exec = Type.Object(
  {
    ...execFields,
    stdin: Type.Object({ bytes: Type.Integer(), closed: Type.Boolean() }),
    stdout: OutputState,
    stderr: OutputState,
  },
  { $id: "Exec" },
);
export type Exec = Static<typeof Exec>;

export const CreateExec = Type.Object(
  {
    command: Argv,
    cwd: Type.Optional(Cwd),
    env: Type.Optional(Environment),
    stdin: Type.Optional(Base64),
    timeout: Type.Optional(DurationText),
    on_lost: Type.Optional(
      Type.Enum([...ON_LOST], {
        description:
          "When its machine or supervisor is lost: `reject` (default) ends it as `lost`; `rerun` starts it again, up to 5 times, from the last version. Then `stdin` is all of its input.",
      }),
    ),
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { ...strict, $id: "CreateExec" },
);
export type CreateExec = Static<typeof CreateExec>;

/** The answer of the waiting exec of /v1. */
export const ExecResult = Type.Object(
  {
    ...execFields,
    stdout: Base64,
    stderr: Base64,
    stdout_truncated: Type.Boolean(),
    stderr_truncated: Type.Boolean(),
  },
  { $id: "ExecResult" },
);
export type ExecResult = Static<typeof ExecResult>;

export const SignalExec = Type.Object(
  { signal: Type.Enum([...PROCESS_SIGNALS]) },
  { ...strict, $id: "SignalExec" },
);
export type SignalExec = Static<typeof SignalExec>;

const inputFields = {
  data: Base64,
  offset: Type.Optional(
    Type.Integer({ minimum: 0, description: "Bytes before these; another is 409 `offset_mismatch`." }),
  ),
};

export const ExecStdin = Type.Object(inputFields, { ...strict, $id: "ExecStdin" });
export type ExecStdin = Static<typeof ExecStdin>;

export const InputOffset = Type.Object(
  { offset: Type.Integer({ description: "Bytes taken so far." }) },
  { $id: "InputOffset" },
);
export type InputOffset = Static<typeof InputOffset>;

/** An interactive terminal in a workspace. */
export const Pty = Type.Object(
  {
    id: Id("pty"),
    workspace_id: Id("ws"),
    command: Type.Array(Type.String()),
    cwd: Type.String(),
    env_names: Type.Array(Type.String()),
    cols: Side,
    rows: Side,
    status: Type.Enum([...PTY_STATUSES]),
    closing: Type.Boolean({
      description:
        "Its close was taken, and its program has not ended yet. It takes no input and no new size any more.",
    }),
    exit_code: Nullable(Type.Integer()),
    error: Nullable(Type.Object({ message: Type.String() })),
    input: Type.Object({ bytes: Type.Integer() }),
    output: OutputState,
    version_id: Nullable(Id("wsv")),
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Pty" },
);
export type Pty = Static<typeof Pty>;

export const CreatePty = Type.Object(
  {
    command: Type.Optional(Argv),
    cwd: Type.Optional(Cwd),
    env: Type.Optional(Environment),
    cols: Type.Optional(Side),
    rows: Type.Optional(Side),
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { ...strict, $id: "CreatePty" },
);
export type CreatePty = Static<typeof CreatePty>;

export const PtyInput = Type.Object(inputFields, { ...strict, $id: "PtyInput" });
export type PtyInput = Static<typeof PtyInput>;

export const ResizePty = Type.Object({ cols: Side, rows: Side }, { ...strict, $id: "ResizePty" });
export type ResizePty = Static<typeof ResizePty>;

/** Bytes of an output; `offset` is where they begin. */
export const OutputChunk = Type.Object(
  { offset: Type.Integer(), data: Base64, at: Timestamp },
  { $id: "OutputChunk" },
);
export type OutputChunk = Static<typeof OutputChunk>;

export const OutputPage = Type.Object(
  { chunks: Type.Array(OutputChunk), next_cursor: Nullable(Type.String()), ended: Type.Boolean() },
  { $id: "OutputPage" },
);
export type OutputPage = Static<typeof OutputPage>;

/**
 * The worker's side. A process is an exec or a PTY; its id says which.
 *
 * The lease poll brings it (`ProcessStart`) until the worker lists it as held. The worker starts it, answers
 * `processes/started`, sends output as it comes (`processes/output`, at most one call of a process at a time: its
 * answer paces the process), commits what it changed and answers `processes/ended` with the version. Output is told
 * apart by offset: a chunk that was stored before is not stored again. Input comes as bytes with their offset, from
 * where the worker says its own ends; controls come in order with a number from 1.
 */
export const ProcessId = Type.String({
  pattern: "^(exec|pty)_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  examples: [EXAMPLE_IDS.exec],
});
const MAX_INT32 = 2_147_483_647;

export const HeldProcess = Type.Object(
  {
    process_id: ProcessId,
    input_offset: Type.Integer({ minimum: 0, description: "Bytes of input it has taken." }),
    input_closed: Type.Boolean(),
    control_sequence: Type.Integer({
      minimum: 0,
      maximum: MAX_INT32,
      description: "The last control it has obeyed.",
    }),
  },
  { ...strict, $id: "HeldProcess" },
);
export type HeldProcess = Static<typeof HeldProcess>;

export const ProcessStart = Type.Object(
  {
    materialization_id: Id("mat"),
    process_id: ProcessId,
    kind: Type.Enum(["exec", "pty"]),
    status: Type.Enum(["pending", "running"], {
      description: "`running`: started by this worker, or given to it.",
    }),
    given: Type.Optional(
      Type.Boolean({
        description:
          "It counts as started since it was given to a poll: begin it without `started`, unless it has begun before. " +
          "If whoever would know that is gone, it is lost.",
      }),
    ),
    command: Nullable(Type.Array(Type.String(), { description: "null: the login shell." })),
    cwd: Type.String(),
    env: Type.Record(Type.String(), Type.String()),
    timeout: Nullable(DurationText),
    on_lost: Type.Enum([...ON_LOST]),
    cols: Nullable(Type.Integer()),
    rows: Nullable(Type.Integer()),
    stored: Type.Object(
      { stdout: Type.Integer(), stderr: Type.Integer(), output: Type.Integer() },
      { description: "Bytes of each output that the server has." },
    ),
  },
  { $id: "ProcessStart" },
);
export type ProcessStart = Static<typeof ProcessStart>;

export const ProcessInput = Type.Object(
  {
    process_id: ProcessId,
    offset: Type.Integer(),
    data: Base64,
    closed: Type.Boolean({ description: "These bytes are the last ones." }),
  },
  { $id: "ProcessInput" },
);
export type ProcessInput = Static<typeof ProcessInput>;

export const ProcessControl = Type.Object(
  {
    process_id: ProcessId,
    sequence: Type.Integer(),
    kind: Type.Enum(["signal", "resize", "close"]),
    signal: Nullable(Type.Enum([...PROCESS_SIGNALS])),
    cols: Nullable(Type.Integer()),
    rows: Nullable(Type.Integer()),
  },
  { $id: "ProcessControl" },
);
export type ProcessControl = Static<typeof ProcessControl>;

const processFields = {
  materialization_id: Id("mat"),
  environment_id: Id("env"),
  epoch: Type.Integer({ minimum: 1, maximum: MAX_INT32 }),
  process_id: ProcessId,
};

export const ProcessStarted = Type.Object(processFields, { ...strict, $id: "ProcessStarted" });
export type ProcessStarted = Static<typeof ProcessStarted>;

/** How a command of a leased run ended: asked by the worker that has the run, under its lease. */
export const ProcessResult = Type.Object(
  {
    run_id: Id("run"),
    environment_id: Id("env"),
    lease_id: Id("lease"),
    epoch: Type.Integer({ minimum: 1, maximum: MAX_INT32 }),
    process_id: Id("exec"),
    wait: Type.Optional(DurationText),
  },
  { ...strict, $id: "ProcessResult" },
);
export type ProcessResult = Static<typeof ProcessResult>;

export const ProcessOutput = Type.Object(
  {
    ...processFields,
    chunks: Type.Array(
      Type.Object(
        {
          stream: Type.Enum([...PROCESS_STREAMS]),
          offset: Type.Integer({ minimum: 0 }),
          data: Base64,
          at: Timestamp,
        },
        strict,
      ),
      { minItems: 1, maxItems: 1000 },
    ),
  },
  { ...strict, $id: "ProcessOutput" },
);
export type ProcessOutput = Static<typeof ProcessOutput>;

/** Bytes of each output that the server has now. */
export const ProcessOutputStored = Type.Object(
  { stdout: Type.Integer(), stderr: Type.Integer(), output: Type.Integer() },
  { $id: "ProcessOutputStored" },
);
export type ProcessOutputStored = Static<typeof ProcessOutputStored>;

const endFields = {
  outcome: Type.Enum(["exited", "failed", "cancelled", "closed", "lost"], {
    description: "`failed`: it could not be started. `cancelled` is an exec's, `closed` a PTY's.",
  }),
  exit_code: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 255 }))),
  signal: Type.Optional(Nullable(Type.String({ maxLength: 32 }))),
  timed_out: Type.Optional(Type.Boolean()),
  error: Type.Optional(
    Nullable(Type.Object({ message: Type.String({ minLength: 1, maxLength: 8192 }) }, strict)),
  ),
  version_id: Type.Optional(Nullable(Type.String({ maxLength: 64 }))),
};

/** An end that is told together with the commit of what the process changed. */
export const CommittedEnd = Type.Object({ process_id: ProcessId, ...endFields }, strict);

export const ProcessEnded = Type.Object(
  { ...processFields, ...endFields },
  { ...strict, $id: "ProcessEnded" },
);
export type ProcessEnded = Static<typeof ProcessEnded>;
