import { encodeId, type Worker } from "@keelson/contract";
import { workerStatus } from "../../../core/workers/worker.ts";
import type { WorkerRow } from "../../../core/workers/worker-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

export const toWorker = (row: WorkerRow, now: number): Worker => ({
  id: encodeId("wkr", row.id),
  name: row.name,
  worker_group_id: encodeId("wgrp", row.workerGroupId),
  status: workerStatus(row, now),
  capacity: { executions: row.capacityExecutions, workspaces: row.capacityWorkspaces },
  in_use: { executions: row.inUseExecutions, workspaces: row.inUseWorkspaces },
  labels: JSON.parse(row.labels) as Record<string, string>,
  protocol_version: row.protocolVersion,
  version: row.version,
  node_version: row.nodeVersion,
  platform: row.platform === null ? null : (JSON.parse(row.platform) as Worker["platform"]),
  isolation: row.isolation,
  isolation_problem: row.isolation === "process" ? row.isolationProblem : null,
  task_isolation: row.taskIsolation,
  task_isolation_problem: row.taskIsolationProblem,
  last_seen_at: toTimestamp(row.lastSeenAt),
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});
