import { Type, type Static } from "typebox";
import { PRINTABLE_PATTERN } from "../limits.ts";
import {
  OCCURRENCE_STATUSES,
  SCHEDULE_ERROR_KINDS,
  SCHEDULE_STATUSES,
  SCHEDULE_TYPES,
  SKIP_REASONS,
} from "../schedules.ts";
import {
  ConcurrencyKey,
  DeclaredId,
  DurationText,
  Id,
  JsonObject,
  Nullable,
  pageQuery,
  QueueName,
  Tags,
  Timestamp,
} from "./primitives.ts";
import { RetryPolicy } from "./retry-policy.ts";

export const NEXT_RUNS_DEFAULT = 5;
const strict = { additionalProperties: false } as const;

/** How the runs of a schedule start. Their payload is the service's own, so it is not among these. */
export const ScheduleOptions = Type.Object(
  {
    queue: Type.Optional(QueueName),
    concurrency_key: Type.Optional(ConcurrencyKey),
    priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100 })),
    ttl: Type.Optional(DurationText),
    max_duration: Type.Optional(DurationText),
    retry: Type.Optional(RetryPolicy),
    tags: Type.Optional(Tags),
  },
  { ...strict, $id: "ScheduleOptions" },
);
export type ScheduleOptions = Static<typeof ScheduleOptions>;

const keyText = { minLength: 1, maxLength: 256, pattern: PRINTABLE_PATTERN };

/** Of any text: what is wrong with an expression or a zone is told as `invalid_cron`. */
const Cron = Type.String({
  maxLength: 256,
  description: "Minute, hour, day of month, month, day of week; or six fields, with seconds in front.",
});
/** What says when a schedule comes due. */
export const scheduleTime = {
  cron: Cron,
  timezone: Type.Optional(
    Type.String({ maxLength: 64, description: "An IANA name such as `Europe/Berlin`; default `UTC`." }),
  ),
};
const definition = {
  task: DeclaredId,
  ...scheduleTime,
  external_id: Type.Optional(Nullable(Type.String(keyText))),
  active: Type.Optional(
    Type.Boolean({
      description: "Default: true for a new schedule; a schedule that is there stays as it is.",
    }),
  ),
  options: Type.Optional(ScheduleOptions),
};

/** Creates the schedule of the key, or replaces it: what is left out gets its default, but `active`. */
export const PutSchedule = Type.Object(
  {
    deduplication_key: Type.String({
      ...keyText,
      description: "Names the schedule: there is one of a key in an environment.",
    }),
    ...definition,
  },
  { ...strict, $id: "PutSchedule" },
);
export type PutSchedule = Static<typeof PutSchedule>;

export const ReplaceSchedule = Type.Object(definition, { ...strict, $id: "ReplaceSchedule" });
export type ReplaceSchedule = Static<typeof ReplaceSchedule>;

/** A schedule in a bundle's manifest; its `id` is the deduplication key. */
export const ScheduleDeclaration = Type.Object(
  { id: DeclaredId, ...definition },
  { ...strict, $id: "ScheduleDeclaration" },
);
export type ScheduleDeclaration = Static<typeof ScheduleDeclaration>;

export const ScheduleError = Type.Object(
  { kind: Type.Enum([...SCHEDULE_ERROR_KINDS]), message: Type.String(), at: Timestamp },
  { $id: "ScheduleError" },
);

/** A rule by which runs of a task start at given times. */
export const Schedule = Type.Object(
  {
    id: Id("sched"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    type: Type.Enum([...SCHEDULE_TYPES]),
    status: Type.Enum([...SCHEDULE_STATUSES]),
    status_reason: Nullable(
      Type.Object({
        kind: Type.Enum([...SCHEDULE_ERROR_KINDS]),
        message: Type.String(),
        details: Nullable(JsonObject),
      }),
    ),
    deduplication_key: Type.String(),
    external_id: Nullable(Type.String()),
    task: Type.String(),
    cron: Type.String(),
    timezone: Type.String(),
    active: Type.Boolean(),
    options: ScheduleOptions,
    next_run_at: Nullable(Timestamp),
    last_run_at: Nullable(Timestamp),
    last_run_id: Nullable(Id("run")),
    last_error: Nullable(ScheduleError),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Schedule" },
);
export type Schedule = Static<typeof Schedule>;

/** When a definition would come due, whether there is a schedule of it or not. */
export const NextRuns = Type.Object(
  {
    next_runs: Type.Array(Timestamp, {
      description: "The next due times from now, in order; fewer when no more will come.",
    }),
  },
  { $id: "NextRuns" },
);
export type NextRuns = Static<typeof NextRuns>;

const NEXT_RUNS_MAX = 10;

export const ListNextRuns = Type.Object(
  {
    ...scheduleTime,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: NEXT_RUNS_MAX, description: `Default ${NEXT_RUNS_DEFAULT}.` }),
    ),
  },
  strict,
);
export type ListNextRuns = Static<typeof ListNextRuns>;

export const ListSchedules = Type.Object(
  {
    ...pageQuery(),
    task: Type.Optional(Type.String({ maxLength: 128 })),
    type: Type.Optional(Type.Enum([...SCHEDULE_TYPES])),
    deduplication_key: Type.Optional(Type.String({ maxLength: 256 })),
    external_id: Type.Optional(Type.String({ maxLength: 256 })),
  },
  strict,
);
export type ListSchedules = Static<typeof ListSchedules>;

/** One due time of a schedule and its outcome. */
export const ScheduleOccurrence = Type.Object(
  {
    schedule_id: Id("sched"),
    scheduled_at: Timestamp,
    status: Type.Enum([...OCCURRENCE_STATUSES]),
    run_id: Nullable(Id("run")),
    reason: Nullable(Type.Object({ kind: Type.Enum([...SKIP_REASONS]), message: Type.String() })),
    created_at: Timestamp,
  },
  { $id: "ScheduleOccurrence" },
);
export type ScheduleOccurrence = Static<typeof ScheduleOccurrence>;

/** The payload of a scheduled run. `last_scheduled_at` is the due time of the run before it. */
export const ScheduledPayload = Type.Object(
  {
    schedule_id: Id("sched"),
    deduplication_key: Type.String(),
    scheduled_at: Timestamp,
    last_scheduled_at: Nullable(Timestamp),
    timezone: Type.String(),
  },
  { $id: "ScheduledPayload" },
);
export type ScheduledPayload = Static<typeof ScheduledPayload>;
