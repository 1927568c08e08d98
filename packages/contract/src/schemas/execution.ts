import { Type, type Static } from "typebox";
import { LIMITS } from "../limits.ts";
import { EXECUTION_MODES } from "../runs.ts";
import { Digest, DurationText, Id, JsonObject, JsonValue, Nullable, Tags, Timestamp } from "./primitives.ts";
import {
  checkpointFailedFields,
  childRunsFields,
  execsFields,
  inputsFields,
  JournalEntry,
  LeasedSession,
  outputsFields,
  Resumption,
  statesFields,
  stepsFields,
  tokensFields,
  waitsFields,
  WaitState,
} from "./durable.ts";
import { DeploymentCheck } from "./deployment-check.ts";
import { FailureInput, LogChunkInput, RunEventInput } from "./execution-inputs.ts";
import { ErrorBody } from "./error-body.ts";
import { MetadataChange } from "./metadata-change.ts";
import { TaskFolders, TaskIsolation } from "./task-folder.ts";
import { UsageAmount } from "./usage.ts";
import { SecretVersion } from "./worker.ts";

/**
 * The worker protocol for executions. A lease is identified by (run, lease id, epoch); every operation of a lease
 * carries them and a `sequence`, 1 for the lease's first operation and gapless from there: a sequence that was
 * already applied is answered as it was the first time and has no second effect.
 */

export const LeaseRequest = Type.Object(
  {
    lease_request_id: Type.String({
      minLength: 1,
      maxLength: 64,
      description: "Client-made; a repeat returns the same leases.",
    }),
    limit: Type.Integer({
      minimum: 0,
      maximum: LIMITS.leaseBatch,
      description: "Free slots; 0 waits for cancellations and checks only.",
    }),
    deployment_checks: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: LIMITS.heldChecks,
        description:
          "The `check_id` of each deployment check that the worker is at. Those are kept for 60 s more. One that it was given and does not list is given again.",
      }),
    ),
    wait: Type.Optional(DurationText),
  },
  { additionalProperties: false, $id: "LeaseRequest" },
);
export type LeaseRequest = Static<typeof LeaseRequest>;

/** The part of a run that its process sees. */
export const LeasedRun = Type.Object({
  id: Id("run"),
  project_id: Id("proj"),
  environment_id: Id("env"),
  task: Nullable(Type.String()),
  actor: Nullable(Type.String()),
  attempt_number: Type.Integer({
    description: "Of the attempts since the run's last continuation, which `max_attempts` is about.",
  }),
  max_attempts: Type.Integer(),
  continuations: Type.Optional(
    Type.Integer({
      description:
        "How often the run has continued with an empty journal. Absent: the server does not know continuations.",
    }),
  ),
  payload: { ...JsonValue, description: "The payload that the run goes on with." },
  metadata: JsonObject,
  tags: Tags,
  queue: Type.String(),
  created_at: Timestamp,
  deployment_id: Id("dep"),
  deployment_version: Type.String(),
  session_id: Nullable(Id("sess")),
  turn: Nullable(Type.Integer()),
  parent_run_id: Nullable(Id("run")),
  schedule_id: Nullable(Id("sched")),
  workspace_id: Nullable(Id("ws")),
});
export type LeasedRun = Static<typeof LeasedRun>;

export const Execution = Type.Object(
  {
    lease_id: Id("lease"),
    epoch: Type.Integer(),
    expires_at: Timestamp,
    bundle_digest: Digest,
    bundle_format_version: Type.Integer(),
    entrypoint: Type.Object({
      kind: Type.Enum(["task", "actor"]),
      declared_id: Type.String(),
      execution: Type.Enum([...EXECUTION_MODES]),
      memory_mb: Nullable(Type.Integer()),
      max_duration: Nullable(DurationText),
      isolation: Type.Optional(TaskIsolation),
      folders: Type.Optional(TaskFolders),
    }),
    run: LeasedRun,
    secrets: Type.Record(Type.String(), Type.String()),
    run_token: Type.String({
      description:
        "The credential of the run for /v1 and /api, with the permissions of its task or actor. It is valid exactly while this lease is.",
      examples: [`kl_run_${"0".repeat(84)}`],
    }),
    secret_versions: Type.Record(Type.String(), SecretVersion, {
      description:
        "The versions of `secrets`, by name. A process with other versions must not run this execution.",
    }),
    journal: Type.Array(JournalEntry),
    waits: Type.Array(WaitState, { description: "Those that the journal does not have." }),
    active: Type.String({ ...DurationText, description: "How much of max_duration the attempt has used." }),
    park_after: Type.String({
      ...DurationText,
      description: "How long the run may wait in memory before it is suspended.",
    }),
    session: Nullable(LeasedSession),
  },
  { $id: "Execution" },
);
export type Execution = Static<typeof Execution>;

/** A run whose caller asked for its end: the worker asks the code to stop, then ends the process after the grace. */
export const Cancellation = Type.Object(
  { run_id: Id("run"), lease_id: Id("lease"), epoch: Type.Integer() },
  { $id: "Cancellation" },
);
export type Cancellation = Static<typeof Cancellation>;

/** A message that somebody wants ended: the code that writes it is told. Told again until it has ended. */
export const InterruptedMessage = Type.Object(
  { run_id: Id("run"), lease_id: Id("lease"), epoch: Type.Integer(), message_id: Id("msg") },
  { $id: "InterruptedMessage" },
);
export type InterruptedMessage = Static<typeof InterruptedMessage>;

export const LeaseResponse = Type.Object(
  {
    lease_duration: Type.String({
      ...DurationText,
      description:
        "How long a lease is good without a renewal. Renew at a third of it; clocks of server and worker need not agree.",
    }),
    executions: Type.Array(Execution),
    cancellations: Type.Array(Cancellation),
    resumptions: Type.Array(Resumption),
    interrupts: Type.Array(InterruptedMessage),
    deployment_checks: Type.Array(DeploymentCheck),
    draining: Type.Boolean({
      description:
        "The worker is drained: it must lease nothing more, finish its executions or hand them back, and end.",
    }),
  },
  { $id: "LeaseResponse" },
);
export type LeaseResponse = Static<typeof LeaseResponse>;

/** What the columns of a lease's counters hold. */
const MAX_INT32 = 2_147_483_647;

const leaseFields = {
  run_id: Id("run"),
  environment_id: Id("env"),
  lease_id: Id("lease"),
  epoch: Type.Integer({ minimum: 1, maximum: MAX_INT32 }),
};

const operationFields = {
  ...leaseFields,
  sequence: Type.Integer({ minimum: 1, maximum: MAX_INT32 }),
  at: Timestamp,
};

export const RELEASE_OUTCOMES = [
  "succeeded",
  "failed",
  "cancelled",
  "rejected",
  "suspended",
  "continued",
] as const;
export type ReleaseOutcome = (typeof RELEASE_OUTCOMES)[number];

const strict = { additionalProperties: false } as const;

/** Body of each operation's own route. In a report the same fields stand beside `kind`. */
export const StartOperation = Type.Object(operationFields, { ...strict, $id: "StartOperation" });
export const LogsOperation = Type.Object(
  { ...operationFields, chunks: Type.Array(LogChunkInput, { minItems: 1, maxItems: 1000 }) },
  { ...strict, $id: "LogsOperation" },
);
export const EventsOperation = Type.Object(
  { ...operationFields, events: Type.Array(RunEventInput, { minItems: 1, maxItems: 100 }) },
  { ...strict, $id: "EventsOperation" },
);
export const MetadataOperation = Type.Object(
  { ...operationFields, changes: Type.Array(MetadataChange, { minItems: 1, maxItems: 100 }) },
  { ...strict, $id: "MetadataOperation" },
);
/** What calls of models used, which is added to what the run has used already. */
export const UsageOperation = Type.Object(
  { ...operationFields, used: Type.Array(UsageAmount, { minItems: 1, maxItems: 100 }) },
  { ...strict, $id: "UsageOperation" },
);
export const ReleaseOperation = Type.Object(
  {
    ...operationFields,
    outcome: Type.Enum([...RELEASE_OUTCOMES], {
      description:
        "`rejected` hands the run back. With a `failure` of the kind `lease_lost` it says that infrastructure failed: before `start` that costs no attempt and delays the next try, after it the attempt counts. `continued` queues the run again, with an empty journal and the `payload`.",
    }),
    output: Type.Optional(JsonValue),
    failure: Type.Optional(Nullable(FailureInput)),
    payload: Type.Optional({
      ...JsonValue,
      description:
        "With `continued`: what the task goes on with, checked as at a start. A payload that does not fit fails the run. A turn of an actor has none.",
    }),
  },
  { ...strict, $id: "ReleaseOperation" },
);

export const StepsOperation = Type.Object(
  { ...operationFields, ...stepsFields },
  { ...strict, $id: "StepsOperation" },
);
export const WaitsOperation = Type.Object(
  { ...operationFields, ...waitsFields },
  { ...strict, $id: "WaitsOperation" },
);
export const TokensOperation = Type.Object(
  { ...operationFields, ...tokensFields },
  { ...strict, $id: "TokensOperation" },
);
export const ChildRunsOperation = Type.Object(
  { ...operationFields, ...childRunsFields },
  { ...strict, $id: "ChildRunsOperation" },
);
export const OutputsOperation = Type.Object(
  { ...operationFields, ...outputsFields },
  { ...strict, $id: "OutputsOperation" },
);
export const InputsOperation = Type.Object(
  { ...operationFields, ...inputsFields },
  { ...strict, $id: "InputsOperation" },
);
export const ExecsOperation = Type.Object(
  { ...operationFields, ...execsFields },
  { ...strict, $id: "ExecsOperation" },
);
export const StatesOperation = Type.Object(
  { ...operationFields, ...statesFields },
  { ...strict, $id: "StatesOperation" },
);
/** The journal, and the workspace if the run has one, hold everything: the process may end. */
export const CheckpointReadyOperation = Type.Object(operationFields, {
  ...strict,
  $id: "CheckpointReadyOperation",
});
/** The run could not be suspended and goes on waiting in memory. */
export const CheckpointFailedOperation = Type.Object(
  { ...operationFields, ...checkpointFailedFields },
  { ...strict, $id: "CheckpointFailedOperation" },
);

/** Each is also the path of the operation's own route. */
export const OPERATION_KINDS = [
  "start",
  "logs",
  "events",
  "metadata",
  "usage",
  "release",
  "steps",
  "waits",
  "tokens",
  "child-runs",
  "outputs",
  "inputs",
  "execs",
  "states",
  "checkpoints/ready",
  "checkpoints/failed",
] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

const Operations = Type.Union([
  Type.Object({ kind: Type.Literal("start"), ...StartOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("logs"), ...LogsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("events"), ...EventsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("metadata"), ...MetadataOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("usage"), ...UsageOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("release"), ...ReleaseOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("steps"), ...StepsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("waits"), ...WaitsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("tokens"), ...TokensOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("child-runs"), ...ChildRunsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("outputs"), ...OutputsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("inputs"), ...InputsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("execs"), ...ExecsOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("states"), ...StatesOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("checkpoints/ready"), ...CheckpointReadyOperation.properties }, strict),
  Type.Object({ kind: Type.Literal("checkpoints/failed"), ...CheckpointFailedOperation.properties }, strict),
]);
export type Operation = Static<typeof Operations>;

/** Told apart by `kind`, so that a validator looks at one branch and names what is wrong in it. */
export const Operation = Type.Unsafe<Operation>({
  type: "object",
  required: ["kind"],
  discriminator: { propertyName: "kind" },
  oneOf: Operations.anyOf,
});

export const Report = Type.Object(
  {
    sent_at: Type.Optional(
      Type.String({
        ...Timestamp,
        description:
          "When this request was sent, by the clock that the operations have their `at` from: it says how long a start waited to be sent.",
      }),
    ),
    operations: Type.Array(Operation, { minItems: 1, maxItems: LIMITS.reportOperations }),
  },
  { additionalProperties: false, $id: "Report" },
);
export type Report = Static<typeof Report>;

/**
 * `status` is the HTTP status that the operation's own route would answer: 200, or the error's. `result` is a
 * `WaitsResult` or an `EffectResult`, null for the other kinds and with an error.
 */
export const OperationResult = Type.Object(
  {
    status: Type.Integer(),
    error: Nullable(ErrorBody.properties.error),
    result: Type.Optional(JsonValue),
  },
  { $id: "OperationResult" },
);
export type OperationResult = Static<typeof OperationResult>;

export const ReportResponse = Type.Object(
  { results: Type.Array(OperationResult) },
  { $id: "ReportResponse" },
);
export type ReportResponse = Static<typeof ReportResponse>;

export const Renew = Type.Object(
  { leases: Type.Array(Type.Object(leaseFields, { additionalProperties: false }), { maxItems: 10_000 }) },
  { additionalProperties: false, $id: "Renew" },
);
export type Renew = Static<typeof Renew>;

/** `lost`: leases that are no longer this worker's; it stops those executions. */
export const RenewResponse = Type.Object(
  {
    expires_at: Timestamp,
    renewed: Type.Array(Id("lease")),
    lost: Type.Array(Id("lease")),
    cancellations: Type.Array(Cancellation),
    resumptions: Type.Array(Resumption),
    interrupts: Type.Array(InterruptedMessage),
  },
  { $id: "RenewResponse" },
);
export type RenewResponse = Static<typeof RenewResponse>;
