import { Type, type Static } from "typebox";
import {
  EVENT_SEVERITIES,
  FAILURE_KINDS,
  LOG_STREAMS,
  RUN_EVENT_KINDS,
  RUN_STATUSES,
  STATUS_REASON_KINDS,
} from "../runs.ts";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { LIMITS } from "../limits.ts";
import {
  AllTags,
  anyOf,
  DeclaredId,
  DurationText,
  filterById,
  Id,
  JsonObject,
  JsonValue,
  Nullable,
  pageQuery,
  Tags,
  Timestamp,
} from "./primitives.ts";
import { PendingWait } from "./pending-wait.ts";
import { RetryPolicy } from "./retry-policy.ts";

export const RunFailure = Type.Object(
  {
    kind: Type.Enum([...FAILURE_KINDS]),
    message: Type.String(),
    stack: Nullable(Type.String()),
    retryable: Type.Boolean(),
  },
  {
    $id: "RunFailure",
    examples: [
      {
        kind: "application_error",
        message: "The mail server refused the message.",
        stack: "Error: The mail server refused the message.\n    at send (src/report.ts:18:11)",
        retryable: true,
      },
    ],
  },
);
export type RunFailure = Static<typeof RunFailure>;

export const StatusReason = Type.Object(
  {
    kind: Type.Enum([...STATUS_REASON_KINDS]),
    message: Type.String(),
    details: Nullable({
      ...JsonObject,
      description:
        "What the reason is about, by kind, such as `available_at`, `workspace_id`, or `held_by`: up to 5 runs that hold the slots of the queue or of the concurrency key.",
    }),
  },
  { $id: "StatusReason" },
);
export type StatusReason = Static<typeof StatusReason>;

/** A run of a task that has succeeded. */
export const EXAMPLE_RUN = {
  id: EXAMPLE_IDS.run,
  project_id: EXAMPLE_IDS.proj,
  environment_id: EXAMPLE_IDS.env,
  task: "send-report",
  actor: null,
  session_id: null,
  turn: null,
  status: "succeeded",
  status_reason: null,
  attempt_number: 1,
  max_attempts: 5,
  retry: { max_attempts: 5, initial_delay: "1s", max_delay: "5m", factor: 2, jitter: true },
  deployment_id: EXAMPLE_IDS.dep,
  deployment_version: "20261120.7",
  workspace_id: null,
  payload: { week: 47 },
  continuations: 0,
  continued_payload: null,
  output: { sent: 412 },
  failure: null,
  error_group_id: null,
  pending_wait: null,
  queue: "reports",
  concurrency_key: null,
  priority: 0,
  max_duration: "10m",
  metadata: {},
  tags: ["weekly"],
  schedule_id: null,
  parent_run_id: null,
  client_version: null,
  cli_version: null,
  sdk_version: "0.1.0",
  start_at: null,
  started_at: "2026-11-20T09:15:00.131Z",
  finished_at: "2026-11-20T09:15:02.402Z",
  expires_at: null,
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:02.402Z",
};

/** The same run as it was created. */
export const EXAMPLE_CREATED_RUN = {
  ...EXAMPLE_RUN,
  status: "queued",
  attempt_number: null,
  output: null,
  started_at: null,
  finished_at: null,
  updated_at: EXAMPLE_RUN.created_at,
};

/** One execution of a task or of an actor's turn, from its start to one terminal state. */
export const Run = Type.Object(
  {
    id: Id("run"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    task: Nullable(Type.String()),
    actor: Nullable(Type.String()),
    session_id: Nullable(Id("sess")),
    turn: Nullable(Type.Integer()),
    status: Type.Enum([...RUN_STATUSES]),
    status_reason: Nullable(StatusReason),
    attempt_number: Nullable(Type.Integer()),
    max_attempts: Type.Integer(),
    retry: RetryPolicy,
    deployment_id: Id("dep"),
    deployment_version: Type.String(),
    workspace_id: Nullable(Id("ws")),
    payload: { ...JsonValue, description: "What the run was started with." },
    continuations: Type.Integer({
      description: "How often its code called `ctx.continueAs()`.",
    }),
    continued_payload: {
      ...JsonValue,
      description: "The payload of the last `ctx.continueAs()`. Null before the first one.",
    },
    output: JsonValue,
    failure: Nullable(RunFailure),
    error_group_id: Nullable(Id("err")),
    pending_wait: Nullable(PendingWait),
    queue: Type.String(),
    concurrency_key: Nullable(Type.String()),
    priority: Type.Integer(),
    max_duration: Nullable(DurationText),
    metadata: JsonObject,
    tags: Tags,
    schedule_id: Nullable(Id("sched")),
    parent_run_id: Nullable(Id("run")),
    client_version: Nullable(Type.String()),
    cli_version: Nullable(Type.String()),
    sdk_version: Nullable(Type.String()),
    start_at: Nullable(Timestamp),
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
    expires_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    $id: "Run",
    examples: [EXAMPLE_RUN],
  },
);
export type Run = Static<typeof Run>;

export const RunEvent = Type.Object(
  {
    id: Type.String({
      description: "The run event cursor: a decimal number, 1 for the first event of the run.",
    }),
    run_id: Id("run"),
    attempt_number: Nullable(Type.Integer()),
    kind: Type.Enum([...RUN_EVENT_KINDS]),
    severity: Type.Enum([...EVENT_SEVERITIES]),
    message: Type.String(),
    attributes: JsonObject,
    at: Timestamp,
  },
  {
    $id: "RunEvent",
    examples: [
      {
        id: "3",
        run_id: EXAMPLE_IDS.run,
        attempt_number: 1,
        kind: "run.started",
        severity: "info",
        message: "Attempt 1 started.",
        attributes: {},
        at: "2026-11-20T09:15:00.131Z",
      },
    ],
  },
);
export type RunEvent = Static<typeof RunEvent>;

export const RunLogChunk = Type.Object(
  {
    id: Type.String({
      description: "The run log cursor: a decimal number, 1 for the first chunk of the run.",
    }),
    run_id: Id("run"),
    attempt_number: Type.Integer(),
    stream: Type.Enum([...LOG_STREAMS]),
    data: Type.String({ description: "base64" }),
    at: Timestamp,
  },
  {
    $id: "RunLogChunk",
    examples: [
      {
        id: "1",
        run_id: EXAMPLE_IDS.run,
        attempt_number: 1,
        stream: "stdout",
        data: "c2VudCA0MTIgbWFpbHMK",
        at: "2026-11-20T09:15:02.390Z",
      },
    ],
  },
);
export type RunLogChunk = Static<typeof RunLogChunk>;

/** The last part of both streams as it is now; follow from `cursor`. */
export const RunLogSnapshot = Type.Object(
  {
    stdout: Type.String({ description: "base64, the last 256 KiB" }),
    stderr: Type.String({ description: "base64, the last 256 KiB" }),
    stdout_bytes: Type.Integer({ description: "bytes ever written" }),
    stderr_bytes: Type.Integer({ description: "bytes ever written" }),
    truncated: Type.Boolean(),
    cursor: Type.String(),
  },
  {
    $id: "RunLogSnapshot",
    examples: [
      {
        stdout: "c2VudCA0MTIgbWFpbHMK",
        stderr: "",
        stdout_bytes: 15,
        stderr_bytes: 0,
        truncated: false,
        cursor: "1",
      },
    ],
  },
);
export type RunLogSnapshot = Static<typeof RunLogSnapshot>;

export const RunCounts = Type.Object(
  {
    counts: Type.Object(
      Object.fromEntries(RUN_STATUSES.map((status) => [status, Type.Integer()])) as Record<
        (typeof RUN_STATUSES)[number],
        ReturnType<typeof Type.Integer>
      >,
    ),
  },
  { $id: "RunCounts" },
);
export type RunCounts = Static<typeof RunCounts>;

export const ListRuns = Type.Object(
  {
    ...pageQuery(),
    status: anyOf(RUN_STATUSES),
    task: Type.Optional(DeclaredId),
    actor: Type.Optional(DeclaredId),
    session_id: filterById(),
    schedule_id: filterById(),
    deployment_id: filterById("Of this version of the code."),
    parent_run_id: filterById("Started by this run."),
    priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100 })),
    error_group_id: filterById("Of this error group."),
    tag: AllTags,
    created_after: Type.Optional(Type.String({ format: "date-time" })),
    created_before: Type.Optional(Type.String({ format: "date-time" })),
    hide: Type.Optional(
      Type.Array(Type.Unsafe<"children" | "scheduled">(Type.Enum(["children", "scheduled"])), {
        maxItems: 2,
        description: "Without runs that other runs started, or that schedules started. Repeatable.",
      }),
    ),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.runSearchCharacters,
        description:
          'Words and "phrases" of the payload, metadata, error, tags and task, and `status:`, `task:`, `actor:`, `tag:`, `id:`, `error:`, ' +
          "`payload:`, `metadata.<key>:` and `created:>2026-01-31`. See the guide on finding runs.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListRuns = Static<typeof ListRuns>;
