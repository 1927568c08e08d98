import { encodeId, type ErrorGroup } from "@keelson/contract";
import type { ErrorGroupRow } from "../../../core/error-groups/error-group-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export const toErrorGroup = (row: ErrorGroupRow): ErrorGroup => ({
  id: encodeId("err", row.id),
  project_id: encodeId("proj", row.projectId),
  environment_id: encodeId("env", row.environmentId),
  status: row.status,
  kind: row.kind,
  title: row.title,
  message: row.message,
  frame: row.frame,
  count: row.count,
  tasks: row.tasks,
  actors: row.actors,
  first_seen_at: toTimestamp(row.firstSeenAt),
  last_seen_at: toTimestamp(row.lastSeenAt),
  last_run_id: encodeId("run", row.lastRunId),
  resolved_at: toTimestampOrNull(row.resolvedAt),
  resolved_in_version: row.resolvedInVersion,
  reopened_at: toTimestampOrNull(row.reopenedAt),
});
