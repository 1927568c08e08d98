import { Type, type Static } from "typebox";
import { ERROR_GROUP_ORDERS, ERROR_GROUP_STATUSES } from "../error-groups.ts";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { LIMITS } from "../limits.ts";
import { FAILURE_KINDS } from "../runs.ts";
import { anyOf, DeclaredId, Id, Nullable, pageQuery, Timestamp } from "./primitives.ts";

const names = (what: string) =>
  Type.Array(Type.String(), { description: `${what}; the first ${LIMITS.errorGroupNames}.` });

/** Failed runs of one environment that failed in the same way. */
export const ErrorGroup = Type.Object(
  {
    id: Id("err"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    status: Type.Enum([...ERROR_GROUP_STATUSES]),
    kind: Type.Enum([...FAILURE_KINDS]),
    title: Type.String({ description: "The error's name and the first line of its message." }),
    message: Type.String({ description: "The message of the first of them." }),
    frame: Nullable(
      Type.String({ description: "The function and the file of the first own frame, without the line." }),
    ),
    count: Type.Integer({ description: "All runs that ever failed in this way, including dropped ones." }),
    tasks: names("Tasks with runs that failed in this way"),
    actors: names("Actors with runs that failed in this way"),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    last_run_id: Id("run"),
    resolved_at: Nullable(Timestamp),
    resolved_in_version: Nullable(
      Type.String({ description: "The version that was current when the group was resolved." }),
    ),
    reopened_at: Nullable(
      Type.String({
        format: "date-time",
        description: "When a run failed in this way again after the group was resolved.",
      }),
    ),
  },
  {
    $id: "ErrorGroup",
    examples: [
      {
        id: EXAMPLE_IDS.err,
        project_id: EXAMPLE_IDS.proj,
        environment_id: EXAMPLE_IDS.env,
        status: "open",
        kind: "application_error",
        title: "Error: The mail server refused message 4711.",
        message: "The mail server refused message 4711.",
        frame: "send (src/report.ts)",
        count: 12,
        tasks: ["send-report"],
        actors: [],
        first_seen_at: "2026-11-20T09:15:02.402Z",
        last_seen_at: "2026-11-21T07:00:04.118Z",
        last_run_id: EXAMPLE_IDS.run,
        resolved_at: null,
        resolved_in_version: null,
        reopened_at: null,
      },
    ],
  },
);
export type ErrorGroup = Static<typeof ErrorGroup>;

export const ListErrorGroups = Type.Object(
  {
    ...pageQuery(),
    status: anyOf(ERROR_GROUP_STATUSES),
    task: Type.Optional(DeclaredId),
    actor: Type.Optional(DeclaredId),
    seen_since: Type.Optional(
      Type.String({ format: "date-time", description: "Only groups with a failure at or after this time." }),
    ),
    order: Type.Optional(
      Type.Enum([...ERROR_GROUP_ORDERS], { description: "What comes first. Default `last_seen`." }),
    ),
  },
  { additionalProperties: false },
);
export type ListErrorGroups = Static<typeof ListErrorGroups>;
