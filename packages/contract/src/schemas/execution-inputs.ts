import { Type } from "typebox";
import { EVENT_SEVERITIES, FAILURE_KINDS, LOG_STREAMS, WORKER_EVENT_KINDS } from "../runs.ts";
import { DurationText, JsonObject, Nullable, Timestamp } from "./primitives.ts";

/** What a worker reports of a run, within the operations of its lease. */

export const LogChunkInput = Type.Object(
  {
    stream: Type.Enum([...LOG_STREAMS]),
    data: Type.String({ description: "base64, up to 64 KiB of bytes" }),
    at: Timestamp,
  },
  { additionalProperties: false },
);

export const RunEventInput = Type.Object(
  {
    kind: Type.Enum([...WORKER_EVENT_KINDS]),
    severity: Type.Optional(Type.Enum([...EVENT_SEVERITIES])),
    message: Type.String({ maxLength: 4096 }),
    attributes: Type.Optional(JsonObject),
    at: Timestamp,
  },
  { additionalProperties: false },
);

export const FailureInput = Type.Object(
  {
    kind: Type.Enum([...FAILURE_KINDS]),
    message: Type.String({ maxLength: 65_536 }),
    stack: Type.Optional(Nullable(Type.String({ maxLength: 65_536 }))),
    retryable: Type.Boolean(),
    retry_after: Type.Optional(Nullable(DurationText)),
  },
  { additionalProperties: false },
);
