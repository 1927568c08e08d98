import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { INTERRUPT_STATUSES, MESSAGE_STATUSES } from "../sessions.ts";
import { Id, JsonValue, Nullable, pageQuery, Timestamp } from "./primitives.ts";
import { StreamName } from "./stream.ts";

/** What a run writes to an output stream in pieces, such as an answer: by one `pipe()`, or over several steps and waits. */
export const Message = Type.Object(
  {
    id: Id("msg"),
    session_id: Id("sess"),
    stream: Type.String(),
    status: Type.Enum([...MESSAGE_STATUSES], {
      description:
        "`open`: it is being written. `complete`: all of it was written. `failed`: what wrote it failed, or its worker was lost. " +
        "`interrupted`: somebody stopped it, or its run was cancelled.",
    }),
    run_id: Id("run"),
    attempt_number: Type.Integer(),
    correlation_id: Nullable(Type.String({ description: "Of its first record." })),
    first_sequence: Type.Integer({
      description:
        "Where its first record is in the stream: its first piece, or the record that says that it has begun.",
    }),
    last_sequence: Nullable(
      Type.Integer({ description: "Where its last record before its end is; null while it is open." }),
    ),
    data: {
      ...JsonValue,
      description:
        "Once it has ended: what its code gave at its end, or else the pieces that count, joined when each is a text, or else a list of them. Null " +
        "while it is open, and where they are more than 512 KiB: then read the records.",
    },
    interrupt_requested_at: Nullable({ ...Timestamp, description: "When somebody asked for its end." }),
    created_at: Timestamp,
    ended_at: Nullable(Timestamp),
  },
  {
    $id: "Message",
    examples: [
      {
        id: EXAMPLE_IDS.msg,
        session_id: EXAMPLE_IDS.sess,
        stream: "output",
        status: "complete",
        run_id: EXAMPLE_IDS.run,
        attempt_number: 1,
        correlation_id: null,
        first_sequence: 12,
        last_sequence: 57,
        data: "The order left our warehouse on Monday.",
        interrupt_requested_at: null,
        created_at: "2026-11-20T09:15:01.204Z",
        ended_at: "2026-11-20T09:15:04.870Z",
      },
    ],
  },
);
export type Message = Static<typeof Message>;

export const ListMessages = Type.Object(
  {
    ...pageQuery(),
    stream: Type.Optional(StreamName),
    status: Type.Optional(Type.Literal("open", { description: "Only messages that are being written." })),
  },
  { additionalProperties: false },
);
export type ListMessages = Static<typeof ListMessages>;

export const InterruptMessage = Type.Object(
  { message_id: Id("msg") },
  { additionalProperties: false, $id: "InterruptMessage", examples: [{ message_id: EXAMPLE_IDS.msg }] },
);
export type InterruptMessage = Static<typeof InterruptMessage>;

export const MessageInterrupted = Type.Object(
  {
    message_id: Id("msg"),
    status: Type.Enum([...INTERRUPT_STATUSES], {
      description:
        "`interrupting`: the code that writes it is told, and the message ends within ten seconds. `ended`: nothing more of it comes.",
    }),
  },
  {
    $id: "MessageInterrupted",
    examples: [{ message_id: EXAMPLE_IDS.msg, status: "interrupting" }],
  },
);
export type MessageInterrupted = Static<typeof MessageInterrupted>;
