import { Type, type Static } from "typebox";
import { LIMITS, PRINTABLE_PATTERN, STREAM_NAME_PATTERN } from "../limits.ts";
import { INPUT_DISPOSITIONS, RECORD_SOURCE_KINDS, STREAM_DIRECTIONS, WHILE_BUSY } from "../sessions.ts";
import { Id, IdempotencyKey, DurationText, JsonValue, Nullable, Timestamp } from "./primitives.ts";

export const StreamName = Type.String({ pattern: STREAM_NAME_PATTERN, examples: ["output"] });

/** Ties the records of one exchange together, such as a question and the pieces of its answer. */
export const CorrelationId = Type.String({
  minLength: 1,
  maxLength: LIMITS.correlationIdBytes,
  pattern: PRINTABLE_PATTERN,
});

const ContentType = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[!-~]+/[ -~]+$",
  description: "A media type that says how `data` is meant.",
});

/** A named list of records of a session. Its direction is for life. */
export const Stream = Type.Object(
  {
    id: Id("strm"),
    session_id: Id("sess"),
    name: Type.String(),
    direction: Type.Enum([...STREAM_DIRECTIONS]),
    last_sequence: Type.Integer({ description: "0 while it is empty." }),
    created_at: Timestamp,
  },
  { $id: "Stream" },
);
export type Stream = Static<typeof Stream>;

export const StreamRecord = Type.Object(
  {
    id: Id("rec"),
    session_id: Id("sess"),
    stream: Type.String(),
    sequence: Type.Integer({ description: "1 for the first record; no number is left out." }),
    data: JsonValue,
    content_type: Nullable(Type.String()),
    correlation_id: Nullable(Type.String()),
    message_id: Type.Union([Id("msg"), Type.Null()], {
      description:
        "The message of which the record is a piece, such as all that one `pipe()` appends. Null for a record on its own.",
    }),
    source: Type.Object({ kind: Type.Enum([...RECORD_SOURCE_KINDS]), id: Nullable(Type.String()) }),
    run_id: Nullable(Id("run")),
    attempt_number: Nullable(Type.Integer()),
    created_at: Timestamp,
    withdrawn_at: Type.Optional(
      Type.String({
        ...Timestamp,
        description: "Only of an input that was withdrawn before a run received it: its `data` is null.",
      }),
    ),
    steer: Type.Optional(
      Type.Literal(true, {
        description:
          "Only of an input that is to steer the turn that was live when it came: it is meant for that turn, and not for the next one.",
      }),
    ),
  },
  { $id: "StreamRecord" },
);
export type StreamRecord = Static<typeof StreamRecord>;

/** A record as the answer to the request that sent it. */
export const SentRecord = Type.Object(
  {
    ...StreamRecord.properties,
    disposition: Type.Optional(
      Type.Enum([...INPUT_DISPOSITIONS], {
        description:
          "`started`: it began a turn. `delivered`: a run that waited for it received it. `queued`: a turn is live, and no run has received it. " +
          "`steered`: the same, of an input that is to steer that turn. A repeat with the same idempotency key says `started` when the first answer did, " +
          "and otherwise `delivered`, `queued` or `steered`, as it is now. It leaves it out once the record is withdrawn.",
      }),
    ),
  },
  { $id: "SentRecord" },
);
export type SentRecord = Static<typeof SentRecord>;

/** One record as it is appended. `data` may be 256 KiB of JSON. */
export const recordFields = {
  data: JsonValue,
  content_type: Type.Optional(ContentType),
  correlation_id: Type.Optional(CorrelationId),
};

const RecordInput = Type.Object(recordFields, { additionalProperties: false });

/** Either `data` with what belongs to it, for one record, or `records`, which are appended all or none. */
export const AppendRecords = Type.Object(
  {
    data: Type.Optional(JsonValue),
    content_type: Type.Optional(ContentType),
    correlation_id: Type.Optional(CorrelationId),
    records: Type.Optional(Type.Array(RecordInput, { minItems: 1, maxItems: LIMITS.batchRecords })),
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { additionalProperties: false, $id: "AppendRecords" },
);
export type AppendRecords = Static<typeof AppendRecords>;

/** As `AppendRecords`, to an input stream. */
export const SendRecords = Type.Object(
  {
    ...AppendRecords.properties,
    while_busy: Type.Optional(
      Type.Enum([...WHILE_BUSY], {
        description:
          "While a turn is live and no run waits for input on the stream: `enqueue` appends, `interrupt` appends and interrupts the " +
          "messages that the turn is writing, `steer` appends and marks the record as meant for this turn, and `reject` appends nothing and " +
          "answers 409 `session_busy`. Default: what the session's actor declares, else `enqueue`.",
      }),
    ),
  },
  { additionalProperties: false, $id: "SendRecords" },
);
export type SendRecords = Static<typeof SendRecords>;

export const RecordPage = Type.Object(
  {
    records: Type.Array(StreamRecord),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        "The sequence of the last record. Pass it as the cursor to read later records. Null before the first record.",
    }),
    ended: Type.Boolean({ description: "The session has ended, and these records are the last ones." }),
  },
  { $id: "RecordPage" },
);
export type RecordPage = Static<typeof RecordPage>;
