import { Type, type Static } from "typebox";
import { FAILURE_KINDS, RUN_STATUSES } from "../runs.ts";
import { Id, JsonObject, JsonValue, Nullable, Tags, Timestamp } from "./primitives.ts";
import { EXAMPLE_RUN } from "./run.ts";

/** A run as a browser sees it that may watch it: what becomes of it, without what it was given and where it runs. */
export const PublicRun = Type.Object(
  {
    id: Id("run"),
    task: Nullable(Type.String()),
    actor: Nullable(Type.String()),
    status: Type.Enum([...RUN_STATUSES]),
    attempt_number: Nullable(Type.Integer()),
    max_attempts: Type.Integer(),
    output: JsonValue,
    failure: Nullable(Type.Object({ kind: Type.Enum([...FAILURE_KINDS]), message: Type.String() })),
    metadata: JsonObject,
    tags: Tags,
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    $id: "PublicRun",
    examples: [
      {
        id: EXAMPLE_RUN.id,
        task: EXAMPLE_RUN.task,
        actor: null,
        status: "running",
        attempt_number: 1,
        max_attempts: EXAMPLE_RUN.max_attempts,
        output: null,
        failure: null,
        metadata: { progress: 0.4 },
        tags: EXAMPLE_RUN.tags,
        started_at: EXAMPLE_RUN.started_at,
        finished_at: null,
        created_at: EXAMPLE_RUN.created_at,
        updated_at: "2026-11-20T09:15:01.020Z",
      },
    ],
  },
);
export type PublicRun = Static<typeof PublicRun>;
