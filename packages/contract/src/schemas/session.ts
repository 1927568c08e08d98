import { Type, type Static } from "typebox";
import { LIMITS, PRINTABLE_PATTERN } from "../limits.ts";
import { SESSION_ACTIVITIES, SESSION_STATUSES } from "../sessions.ts";
import {
  AllTags,
  anyOf,
  DeclaredId,
  DurationText,
  Id,
  JsonObject,
  JsonValue,
  Nullable,
  pageQuery,
  Tags,
  Timestamp,
} from "./primitives.ts";
import { Run, StatusReason } from "./run.ts";
import { startFields } from "./start.ts";

/** Chosen by the caller, unique among the open sessions of an environment. 1 to 256 bytes. */
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: LIMITS.externalIdBytes,
  pattern: PRINTABLE_PATTERN,
});

/** Why the newest turn of a session failed. */
const LastFailure = Type.Object(
  {
    run_id: Type.String({ ...Id("run"), description: "The run that failed." }),
    code: Type.String({
      description:
        "The `kind` of the run's failure, or `expired` when no worker took the run within its `ttl`.",
    }),
    message: Type.String(),
    at: Type.String({ ...Timestamp, description: "When the run ended." }),
  },
  { description: "Null when no turn has failed, and again when a later turn has succeeded." },
);

/** A conversation: named streams that outlive the runs which read and write them, one run at a time. */
export const Session = Type.Object(
  {
    id: Id("sess"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    external_id: Nullable(Type.String()),
    task: Nullable(Type.String()),
    actor: Nullable(Type.String()),
    status: Type.Enum([...SESSION_STATUSES]),
    status_reason: Nullable(StatusReason),
    activity: Type.Enum([...SESSION_ACTIVITIES]),
    current_run_id: Id("run"),
    last_failure: Nullable(LastFailure),
    turn: Type.Integer({ description: "Of the current run: 1 for the first run of the session." }),
    workspace_id: Nullable(Id("ws")),
    metadata: JsonObject,
    tags: Tags,
    expires_at: Nullable(Timestamp),
    closed_at: Nullable(Timestamp),
    close_reason: Nullable(Type.String()),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Session" },
);
export type Session = Static<typeof Session>;

const ExpiresAt = Type.Optional(Nullable(Timestamp));

const createFields = {
  task: Type.Optional(DeclaredId),
  actor: Type.Optional(DeclaredId),
  ...startFields,
  input: Type.Optional(JsonValue),
  external_id: Type.Optional(ExternalId),
  expires_at: ExpiresAt,
};

/**
 * Either `task` or `actor`. `payload` is the first run's; `input` becomes the first record of stream `input`.
 * `metadata` and `tags` are the session's; its runs carry the tags too. The other start fields hold for every turn,
 * except `delay`, `start_at` and `idempotency_key`, which are of the first run alone.
 */
export const CreateSession = Type.Object(createFields, { additionalProperties: false, $id: "CreateSession" });
export type CreateSession = Static<typeof CreateSession>;

export const StartAndWait = Type.Object(
  {
    ...createFields,
    timeout: Type.Optional(
      Type.String({ ...DurationText, description: "How long to wait for the run's end: 60s, at most 10m." }),
    ),
  },
  { additionalProperties: false, $id: "StartAndWait" },
);
export type StartAndWait = Static<typeof StartAndWait>;

export const StartedAndWaited = Type.Object(
  { session: Session, run: Run, timed_out: Type.Boolean() },
  { $id: "StartedAndWaited" },
);
export type StartedAndWaited = Static<typeof StartedAndWaited>;

/** Body of an actor's start: `metadata` and `tags` beside `session` are the first run's. */
export const StartActor = Type.Object(
  {
    ...startFields,
    input: Type.Optional(JsonValue),
    session: Type.Optional(
      Type.Object(
        {
          external_id: Type.Optional(ExternalId),
          metadata: Type.Optional(JsonObject),
          tags: Type.Optional(Tags),
          expires_at: ExpiresAt,
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, $id: "StartActor" },
);
export type StartActor = Static<typeof StartActor>;

export const StartedActor = Type.Object({ session: Session, run: Run }, { $id: "StartedActor" });
export type StartedActor = Static<typeof StartedActor>;

/** Replaces what is given. */
export const UpdateSession = Type.Object(
  { metadata: Type.Optional(JsonObject), tags: Type.Optional(Tags), expires_at: ExpiresAt },
  { additionalProperties: false, $id: "UpdateSession" },
);
export type UpdateSession = Static<typeof UpdateSession>;

export const CloseSession = Type.Object(
  { reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })) },
  { additionalProperties: false, $id: "CloseSession" },
);
export type CloseSession = Static<typeof CloseSession>;

export const ListSessions = Type.Object(
  {
    ...pageQuery(),
    external_id: Type.Optional(ExternalId),
    status: anyOf(SESSION_STATUSES),
    task: Type.Optional(DeclaredId),
    actor: Type.Optional(DeclaredId),
    tag: AllTags,
  },
  { additionalProperties: false },
);
export type ListSessions = Static<typeof ListSessions>;
