import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { STATE_SOURCE_KINDS } from "../sessions.ts";
import { DurationText, Id, IdempotencyKey, JsonValue, Nullable, Timestamp } from "./primitives.ts";

/** Counts from 1 for the first value. */
const MAX_VERSION = Number.MAX_SAFE_INTEGER;

/** Sets only when the state still has this version; 0 when none has been set yet. */
export const IfVersion = Type.Integer({
  minimum: 0,
  maximum: MAX_VERSION,
  description:
    "The version that the state must still have; 0 where it was never set. Left out, the state is overwritten.",
});

/** What a session remembers between its turns: one JSON value, whose version counts how often it was set. */
export const SessionState = Type.Object(
  {
    session_id: Id("sess"),
    state: { ...JsonValue, description: "Null while it was never set." },
    version: Type.Integer({ description: "How often it was set; 0 while it was never set." }),
    updated_at: Nullable({ ...Timestamp, description: "When it was set last." }),
    source: Nullable(
      Type.Object(
        { kind: Type.Enum([...STATE_SOURCE_KINDS]), id: Type.String() },
        { description: "Who set it last: a run, or an API key or user." },
      ),
    ),
    run_id: Nullable(Id("run")),
    attempt_number: Nullable(Type.Integer()),
  },
  {
    $id: "SessionState",
    examples: [
      {
        session_id: EXAMPLE_IDS.sess,
        state: { topic: "delivery", questions: 2 },
        version: 2,
        updated_at: "2026-11-20T09:15:04.870Z",
        source: { kind: "run", id: EXAMPLE_IDS.run },
        run_id: EXAMPLE_IDS.run,
        attempt_number: 1,
      },
    ],
  },
);
export type SessionState = Static<typeof SessionState>;

export const SetSessionState = Type.Object(
  {
    state: { ...JsonValue, description: "Any JSON, up to 256 KiB." },
    if_version: Type.Optional(IfVersion),
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  {
    additionalProperties: false,
    $id: "SetSessionState",
    examples: [{ state: { topic: "delivery", questions: 2 }, if_version: 1 }],
  },
);
export type SetSessionState = Static<typeof SetSessionState>;
