import { Type, type Static } from "typebox";
import { EXECUTION_MODES } from "../runs.ts";
import { SESSION_ON_FAILURE, WHILE_BUSY } from "../sessions.ts";
import { DurationText, Id, JsonObject, Nullable, Timestamp } from "./primitives.ts";
import { RetryPolicy } from "./retry-policy.ts";
import { TaskFolders, TaskIsolation } from "./task-folder.ts";

const declaredFields = {
  project_id: Id("proj"),
  environment_id: Id("env"),
  declared_id: Type.String(),
  deployment_id: Id("dep"),
  description: Nullable(Type.String()),
  payload_schema: Nullable(JsonObject),
  queue: Nullable(Type.String()),
  retry: Nullable(RetryPolicy),
  max_duration: Nullable(DurationText),
  ttl: Nullable(DurationText),
  sandbox: Nullable(Type.String()),
  execution: Type.Enum([...EXECUTION_MODES]),
  memory_mb: Nullable(Type.Integer()),
  isolation: TaskIsolation,
  folders: TaskFolders,
  created_at: Timestamp,
};

/** A task of the current deployment. The id is stable for (environment, declared id). */
export const Task = Type.Object({ id: Id("task"), ...declaredFields }, { $id: "Task" });
export type Task = Static<typeof Task>;

/** An actor of the current deployment: an entrypoint that holds a session. The id is stable, as a task's. */
export const Actor = Type.Object(
  {
    id: Id("actor"),
    ...declaredFields,
    session_on_failure: Type.Enum([...SESSION_ON_FAILURE], {
      description: "What happens to an open session when a run of it fails.",
    }),
    while_busy: Type.Enum([...WHILE_BUSY], {
      description:
        "What an input that does not say `while_busy` does while a turn is live and no run waits for it.",
    }),
  },
  { $id: "Actor" },
);
export type Actor = Static<typeof Actor>;
