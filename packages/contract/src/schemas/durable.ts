import { Type, type Static } from "typebox";
import { LIMITS } from "../limits.ts";
import { DURABLE_WAIT_KINDS, JOURNAL_KINDS, STATE_ACTIONS, WAIT_STATUSES } from "../sessions.ts";
import {
  DeclaredId,
  DurationText,
  Id,
  JsonObject,
  JsonValue,
  Nullable,
  Tags,
  Timestamp,
} from "./primitives.ts";
import { CreateExec } from "./process.ts";
import { ExternalId } from "./session.ts";
import { IfVersion } from "./session-state.ts";
import { startFields } from "./start.ts";
import { CorrelationId, recordFields, StreamName } from "./stream.ts";
import { tokenInputFields } from "./token.ts";

/**
 * Durable execution on the wire.
 *
 * The code of a run makes durable calls: steps, waits, tokens, child runs, appended records, the session's state. Each takes the next
 * `position`, 1 for the first, in the order of the calls. Its outcome becomes an entry of the run's journal, and entries
 * stand in the order in which the code saw them. A worker that takes the run up again gets the journal: a call whose
 * position is in it does not happen again but has its outcome, and outcomes are handed out in the order of the entries,
 * so that the code goes the same way.
 */

const strict = { additionalProperties: false } as const;

const Position = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
/**
 * Where in the course of the code the call was made, as the SDK that made it counts. The server keeps it for the SDK that
 * replays the call. Calls of older SDKs have none.
 */
const Place = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });
const place = Type.Optional(Place);
const keptPlace = Type.Optional(Nullable(Place));
const Name = Type.String({ minLength: 1, maxLength: LIMITS.durableNameCharacters });

/** An error as a journal keeps it; `code` is set when the server refused a call. */
export const DurableError = Type.Object(
  {
    name: Type.String({ maxLength: 256 }),
    message: Type.String({ maxLength: 65_536 }),
    stack: Nullable(Type.String({ maxLength: 65_536 })),
    code: Nullable(Type.String({ maxLength: 64 })),
  },
  { ...strict, $id: "DurableError" },
);
export type DurableError = Static<typeof DurableError>;

/**
 * An entry as the server hands it out. Of a `wait`, `value` is the `WaitState` that the code saw. `name` is the name that
 * the worker gave a step, value, wait or exec; the task of a `child_run`, the stream of an `output` or `input`, `token`, and `get` or `set` of a `state`.
 */
export const JournalEntry = Type.Object(
  {
    position: Position,
    place: keptPlace,
    kind: Type.Enum([...JOURNAL_KINDS]),
    name: Type.String(),
    value: JsonValue,
    error: Nullable(DurableError),
    attempt_number: Type.Integer(),
  },
  { $id: "JournalEntry" },
);
export type JournalEntry = Static<typeof JournalEntry>;

/**
 * A wait of a run. `value` of a resolved one: the completion `{status, data}` of a token, the record of a stream or null
 * when the session takes no more input, `{status, output, failure}` of a child run, `{interrupted}` of a message, null for a timer.
 */
export const WaitState = Type.Object(
  {
    id: Id("wait"),
    position: Position,
    place: keptPlace,
    kind: Type.Enum([...DURABLE_WAIT_KINDS]),
    name: Type.String(),
    status: Type.Enum([...WAIT_STATUSES]),
    timeout_at: Nullable(Timestamp),
    value: JsonValue,
  },
  { $id: "WaitState" },
);
export type WaitState = Static<typeof WaitState>;

/**
 * Outcomes that the run's process has made: of steps, of values it drew, and which settled waits the code has seen. Also, of any kind, calls that
 * the server has refused, where nothing has happened: then `error` has the code of the refusal, and the server has no such `wait`.
 */
export const stepsFields = {
  entries: Type.Array(
    Type.Object(
      {
        position: Position,
        place,
        kind: Type.Enum([...JOURNAL_KINDS]),
        name: Name,
        value: Type.Optional(JsonValue),
        error: Type.Optional(Nullable(DurableError)),
      },
      strict,
    ),
    { minItems: 1, maxItems: 100 },
  ),
};

/**
 * `timer` needs `timeout` or `timeout_at`, the others may have one; `token_id`, `stream` and `run_id` go with the kind. A `message` of
 * `stream` is waited for while the code writes it: it resolves when somebody interrupts it, or when it has ended.
 */
const NewWait = Type.Object(
  {
    position: Position,
    place,
    name: Name,
    kind: Type.Enum([...DURABLE_WAIT_KINDS]),
    timeout: Type.Optional(DurationText),
    timeout_at: Type.Optional(Timestamp),
    token_id: Type.Optional(Type.String({ maxLength: 64 })),
    stream: Type.Optional(StreamName),
    run_id: Type.Optional(Type.String({ maxLength: 64 })),
    message_id: Type.Optional(Id("msg")),
  },
  strict,
);
export type NewWait = Static<typeof NewWait>;

/**
 * New waits, and whether the code now does nothing but wait: then the run gives its slot up until one settles. `cancels` are positions
 * of calls that it gives up: a wait that is pending settles as `cancelled`, a child run is cancelled with all that it has started, and a command is
 * ended. What has settled or ended stays as it is.
 */
export const waitsFields = {
  waits: Type.Array(NewWait, { maxItems: 100 }),
  cancels: Type.Optional(Type.Array(Position, { maxItems: 100 })),
  parked: Type.Boolean(),
};

export const tokensFields = { position: Position, place, ...tokenInputFields };

// A call is made once by its position, so it takes no key.
const { idempotency_key: _key, idempotency_key_ttl: _ttl, ...childFields } = startFields;
export const childRunsFields = { position: Position, place, task: DeclaredId, ...childFields };

/** `position` is null inside a step, whose outcome stands for all that it did. */
export const outputsFields = {
  position: Nullable(Position),
  place,
  stream: StreamName,
  /** The records are pieces of this message. From SDKs that say no more of it. */
  message_id: Type.Optional(Id("msg")),
  /**
   * The records are pieces of this message, which other calls may go on with. It `begins` with the first of them; it `ends` after
   * the last, and only then there may be none. `call` names what writes it in the code, the same in each attempt: what was
   * interrupted once begins no more.
   *
   * One that `spans` begins without a piece, and goes on over steps, waits and attempts until it ends. Its pieces come in parts, one after
   * the other: the records of an operation with `part` begin one, and the text names the step that writes it and a number, joined by `:`.
   * `voids` names a step, of which all parts so far count no more: another try of it is about to write. `data` is kept of it in the place of
   * its pieces.
   */
  message: Type.Optional(
    Type.Object(
      {
        id: Id("msg"),
        begins: Type.Optional(Type.Literal(true)),
        call: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
        ends: Type.Optional(Type.Enum(["complete", "failed", "interrupted"])),
        spans: Type.Optional(Type.Literal(true)),
        correlation_id: Type.Optional(CorrelationId),
        part: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
        voids: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
        data: Type.Optional(JsonValue),
      },
      strict,
    ),
  ),
  records: Type.Array(Type.Object(recordFields, strict), { maxItems: LIMITS.batchRecords }),
};

/** Input to another session of the environment. */
export const inputsFields = {
  position: Position,
  place,
  session_id: Type.Optional(Type.String({ maxLength: 64 })),
  external_id: Type.Optional(ExternalId),
  stream: StreamName,
  ...recordFields,
};

/**
 * A command in the workspace of the run, which must be live on the worker that has the run. Its journal entry is its id; how
 * it ended is asked with `workspaces/processes/result`.
 */
const { idempotency_key: _execKey, idempotency_key_ttl: _execTtl, ...execFields } = CreateExec.properties;
export const execsFields = { position: Position, place, name: Name, ...execFields };

/** Reads the state of the run's session, or sets it, which takes `state`. */
export const statesFields = {
  position: Position,
  place,
  action: Type.Enum([...STATE_ACTIONS]),
  state: Type.Optional(JsonValue),
  /** As `if_version` of the routes. */
  expected: Type.Optional(IfVersion),
};

export const checkpointFailedFields = { message: Type.String({ maxLength: 4096 }) };

/** What `waits` answers: whether the run is parked now, and every settled wait that its journal does not have yet. */
export const WaitsResult = Type.Object(
  { parked: Type.Boolean(), waits: Type.Array(WaitState) },
  { $id: "WaitsResult" },
);
export type WaitsResult = Static<typeof WaitsResult>;

/**
 * What `tokens`, `child-runs`, `outputs`, `inputs`, `execs` and `states` answer: their outcome, which the journal now has. `value`
 * has at least `{id, public_access_token, callback_url}` of a token and `{id}` of a child run or exec; of a state that was read
 * `{state, version}`, of one that was set `{version}`, also beside the error `state_conflict`, where it is the present one. Outputs without a position are not
 * in the journal, and answer null; or `{ended: true}` when the message was interrupted, and nothing of it is taken any more. A message that
 * spans answers `{message_id}` when it begins and `{status}` when it ends: those are in the journal.
 */
export const EffectResult = Type.Object(
  { value: JsonValue, error: Nullable(DurableError) },
  { $id: "EffectResult" },
);
export type EffectResult = Static<typeof EffectResult>;

/** Settled waits of a leased run that its journal does not have yet. Told again until it has them. */
export const Resumption = Type.Object(
  { run_id: Id("run"), lease_id: Id("lease"), epoch: Type.Integer(), waits: Type.Array(WaitState) },
  { $id: "Resumption" },
);
export type Resumption = Static<typeof Resumption>;

/** The session of a leased run, as it is when the run is leased. */
export const LeasedSession = Type.Object(
  {
    id: Id("sess"),
    external_id: Nullable(Type.String()),
    metadata: JsonObject,
    tags: Tags,
    closed: Type.Boolean(),
  },
  { $id: "LeasedSession" },
);
export type LeasedSession = Static<typeof LeasedSession>;
