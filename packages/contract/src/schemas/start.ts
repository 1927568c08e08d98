import { Type, type Static } from "typebox";
import { LIMITS } from "../limits.ts";
import {
  ConcurrencyKey,
  DeclaredId,
  DurationText,
  Id,
  IdempotencyKey,
  JsonObject,
  JsonValue,
  Nullable,
  QueueName,
  Tags,
  Timestamp,
} from "./primitives.ts";
import { RetryPolicy } from "./retry-policy.ts";
import { EXAMPLE_CREATED_RUN, Run } from "./run.ts";
import { ErrorBody } from "./error-body.ts";

/** Shared by the starts of tasks, actors and sessions. */
export const startFields = {
  payload: Type.Optional(JsonValue),
  deployment_version: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: "Pin; default is the current deployment." }),
  ),
  workspace_id: Type.Optional(
    Type.String({
      ...Id("ws"),
      description:
        "The workspace of the run. Without it, a run whose task declares a sandbox gets a new workspace.",
    }),
  ),
  queue: Type.Optional(QueueName),
  concurrency_key: Type.Optional(ConcurrencyKey),
  priority: Type.Optional(
    Type.Integer({ minimum: -100, maximum: 100, description: "Higher first; default 0." }),
  ),
  delay: Type.Optional(DurationText),
  start_at: Type.Optional(Timestamp),
  ttl: Type.Optional(DurationText),
  max_duration: Type.Optional(DurationText),
  retry: Type.Optional(RetryPolicy),
  metadata: Type.Optional(JsonObject),
  tags: Type.Optional(Tags),
  idempotency_key: Type.Optional(IdempotencyKey),
  idempotency_key_ttl: Type.Optional(DurationText),
};

/** Body of a task start. */
export const StartTask = Type.Object(startFields, { additionalProperties: false, $id: "StartTask" });
export type StartTask = Static<typeof StartTask>;

export const StartBatch = Type.Object(
  {
    starts: Type.Array(Type.Object({ task: DeclaredId, ...startFields }, { additionalProperties: false }), {
      minItems: 1,
      maxItems: LIMITS.batchStarts,
    }),
  },
  { additionalProperties: false, $id: "StartBatch" },
);
export type StartBatch = Static<typeof StartBatch>;

/** Each start on its own, in the order of the request: `run` or `error`, the other null. */
export const StartBatchResult = Type.Object(
  {
    results: Type.Array(
      Type.Object({
        status: Type.Integer(),
        run: Nullable(Run),
        error: Nullable(ErrorBody.properties.error),
      }),
    ),
  },
  {
    $id: "StartBatchResult",
    examples: [{ results: [{ status: 201, run: EXAMPLE_CREATED_RUN, error: null }] }],
  },
);
export type StartBatchResult = Static<typeof StartBatchResult>;
