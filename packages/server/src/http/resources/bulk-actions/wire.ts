import { encodeId, type BulkAction, type BulkActionItem, type BulkRunFilter } from "@keelson/contract";
import type { BulkAction as BulkActionRow } from "../../../core/bulk-actions/bulk-action.ts";
import type { BulkItemRow } from "../../../core/bulk-actions/bulk-action-reads.ts";
import { ALL_RUNS, type RunFilter } from "../../../core/runs/run-filter.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

const CREATOR_PREFIXES = { api_key: "key", user: "user", run: "run" } as const;

export const toBulkAction = (row: BulkActionRow): BulkAction => ({
  id: encodeId("bulk", row.id),
  project_id: encodeId("proj", row.projectId),
  environment_id: encodeId("env", row.environmentId),
  action: row.action,
  status: row.status,
  filter: row.runFilter === null ? null : toFilter(JSON.parse(row.runFilter) as RunFilter),
  deployment_version: row.deploymentVersion,
  reason: row.reason,
  matched: row.matched,
  more_matched: row.moreMatched,
  done: row.done,
  skipped: row.skipped,
  failed: row.failed,
  created_by: {
    kind: row.createdByKind,
    id: encodeId<"key" | "user" | "run", string>(CREATOR_PREFIXES[row.createdByKind], row.createdById),
  },
  created_at: toTimestamp(row.createdAt),
  ended_at: toTimestampOrNull(row.endedAt),
});

/** As the request said it, but for the order of its fields. */
function toFilter(stored: RunFilter): BulkRunFilter {
  const filter = { ...ALL_RUNS, ...stored };
  const fields: BulkRunFilter = {
    ...(filter.statuses.length > 0 && { status: [...filter.statuses] }),
    ...(filter.task !== null && { task: filter.task }),
    ...(filter.actor !== null && { actor: filter.actor }),
    ...(filter.sessionId !== null && { session_id: encodeId("sess", filter.sessionId) }),
    ...(filter.scheduleId !== null && { schedule_id: encodeId("sched", filter.scheduleId) }),
    ...(filter.deploymentId !== null && { deployment_id: encodeId("dep", filter.deploymentId) }),
    ...(filter.parentRunId !== null && { parent_run_id: encodeId("run", filter.parentRunId) }),
    ...(filter.priority !== null && { priority: filter.priority }),
    ...(filter.tags.length > 0 && { tag: [...filter.tags] }),
    ...(filter.createdAfter !== null && { created_after: toTimestamp(filter.createdAfter) }),
    ...(filter.createdBefore !== null && { created_before: toTimestamp(filter.createdBefore) }),
  };
  return Object.keys(fields).length === 0 ? { all: true } : fields;
}

export const toBulkItem = (row: BulkItemRow): BulkActionItem => ({
  run_id: encodeId("run", row.runId),
  outcome: row.outcome,
  new_run_id: row.newRunId === null ? null : encodeId("run", row.newRunId),
  error:
    row.errorCode === null || row.errorMessage === null
      ? null
      : { code: row.errorCode, message: row.errorMessage },
  at: toTimestamp(row.createdAt),
});
