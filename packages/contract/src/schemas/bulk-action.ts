import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { LIMITS, PRINTABLE_PATTERN } from "../limits.ts";
import { BULK_ACTION_STATUSES, BULK_ACTIONS, BULK_OUTCOMES } from "../runs.ts";
import { Id, IdempotencyKey, Nullable, pageQuery, Timestamp } from "./primitives.ts";
import { ListRuns } from "./run.ts";

/** One cancellation or replay of many runs. */

const { limit: _limit, cursor: _cursor, ...runFilters } = ListRuns.properties;

/** The filters of the list of runs, with the same meaning. */
export const BulkRunFilter = Type.Object(
  {
    ...runFilters,
    all: Type.Optional(
      Type.Literal(true, { description: "Every run of the environment. Send it instead of filters." }),
    ),
  },
  { additionalProperties: false, $id: "BulkRunFilter" },
);
export type BulkRunFilter = Static<typeof BulkRunFilter>;

const Reason = Type.String({
  minLength: 1,
  maxLength: LIMITS.bulkReasonCharacters,
  pattern: PRINTABLE_PATTERN,
});

export const CreateBulkAction = Type.Object(
  {
    action: Type.Enum([...BULK_ACTIONS]),
    filter: Type.Optional(BulkRunFilter),
    run_ids: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: LIMITS.bulkActionRuns,
        description: "Instead of `filter`.",
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ description: "Counts the runs that match, and changes nothing. Default false." }),
    ),
    deployment_version: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "Of a replay: the version of the new runs. Default: the current deployment.",
      }),
    ),
    reason: Type.Optional({ ...Reason, description: "Shown with the bulk action and in the audit log." }),
    idempotency_key: Type.Optional(IdempotencyKey),
  },
  { additionalProperties: false, $id: "CreateBulkAction" },
);
export type CreateBulkAction = Static<typeof CreateBulkAction>;

const matched = {
  matched: Type.Integer({
    description: `Runs that matched. Exact, unless \`more_matched\`.`,
  }),
  more_matched: Type.Boolean({
    description: `More than ${LIMITS.bulkActionCount} runs matched, and they are not all counted yet.`,
  }),
};

const example = {
  id: EXAMPLE_IDS.bulk,
  project_id: EXAMPLE_IDS.proj,
  environment_id: EXAMPLE_IDS.env,
  action: "cancel",
  status: "completed",
  filter: { task: "send-report", status: ["queued", "running"] },
  deployment_version: null,
  reason: "Wrong recipients",
  matched: 412,
  more_matched: false,
  done: 411,
  skipped: 1,
  failed: 0,
  created_by: { kind: "user", id: EXAMPLE_IDS.user },
  created_at: "2026-11-20T09:15:00.123Z",
  ended_at: "2026-11-20T09:15:04.310Z",
};

export const BulkAction = Type.Object(
  {
    id: Id("bulk"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    action: Type.Enum([...BULK_ACTIONS]),
    status: Type.Enum([...BULK_ACTION_STATUSES]),
    filter: Nullable(BulkRunFilter),
    deployment_version: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    ...matched,
    done: Type.Integer({ description: "Runs that were cancelled or replayed." }),
    skipped: Type.Integer({
      description: "Runs that had ended before a cancellation, or not before a replay.",
    }),
    failed: Type.Integer({ description: "Runs that could not be cancelled or replayed; the items say why." }),
    created_by: Type.Object({ kind: Type.Enum(["api_key", "user", "run"]), id: Type.String() }),
    created_at: Timestamp,
    ended_at: Nullable(Timestamp),
  },
  { $id: "BulkAction", examples: [example] },
);
export type BulkAction = Static<typeof BulkAction>;

/** The answer to a dry run. */
export const BulkActionPreview = Type.Object(
  {
    dry_run: Type.Literal(true),
    action: Type.Enum([...BULK_ACTIONS]),
    ...matched,
    sample_run_ids: Type.Array(Id("run"), { description: "The newest of the runs." }),
  },
  {
    $id: "BulkActionPreview",
    examples: [
      {
        dry_run: true,
        action: "cancel",
        matched: 412,
        more_matched: false,
        sample_run_ids: [EXAMPLE_IDS.run],
      },
    ],
  },
);
export type BulkActionPreview = Static<typeof BulkActionPreview>;

export const BulkActionItem = Type.Object(
  {
    run_id: Id("run"),
    outcome: Type.Enum([...BULK_OUTCOMES], {
      description:
        "`cancelled`: the run was cancelled, or its worker was asked to stop it. `already_ended`: there was nothing to cancel. " +
        "`replayed`: `new_run_id` was started. `not_ended`: the run was live, so it was not replayed. `failed`: see `error`.",
    }),
    new_run_id: Nullable(Id("run")),
    error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
    at: Timestamp,
  },
  {
    $id: "BulkActionItem",
    examples: [
      {
        run_id: EXAMPLE_IDS.run,
        outcome: "cancelled",
        new_run_id: null,
        error: null,
        at: "2026-11-20T09:15:01.020Z",
      },
    ],
  },
);
export type BulkActionItem = Static<typeof BulkActionItem>;

export const ListBulkActions = Type.Object(pageQuery(), { additionalProperties: false });
export type ListBulkActions = Static<typeof ListBulkActions>;
