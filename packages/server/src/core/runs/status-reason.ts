import {
  encodeId,
  type LiveRunStatus,
  type MaterializationStatus,
  type StatusReason,
} from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";

/** What decides why a live run is not running. */
export type StatusFacts = {
  status: LiveRunStatus;
  availableAt: number | null;
  ready: boolean;
  limited: boolean;
  admitted: boolean;
  recovering: boolean;
  queue: string;
  concurrencyKey: string | null;
  workerGroup: string;
  activeWorkers: number;
  keyLimit: number;
  heldByKey: number;
  queueLimit: number | null;
  workspaceId: string | null;
  /** Of the active workers, those that take workspaces. */
  workspaceWorkers: number;
  /** Where the run's workspace is, or is being put; null while it is on no machine. */
  workspaceStatus: MaterializationStatus | null;
  workspaceWorkerId: string | null;
};

/** Facts for one live run; null when it is not live. */
export async function findStatusFacts(
  db: Queryable,
  environmentId: string,
  runId: string,
  now: number,
): Promise<StatusFacts | null> {
  const [facts] = await listStatusFacts(db, environmentId, [runId], now);
  return facts ?? null;
}

/** Facts for those of the runs that are live. */
export function listStatusFacts(
  db: Queryable,
  environmentId: string,
  runIds: readonly string[],
  now: number,
): Promise<(StatusFacts & { runId: string })[]> {
  return db.query(sql`
    SELECT e.run_id AS "runId", e.status, e.available_at AS "availableAt", e.ready, e.limited, e.admitted, e.recovering, e.queue,
      e.concurrency_key AS "concurrencyKey", g.name AS "workerGroup",
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.last_seen_at >= to_timestamp(${now - LOST_AFTER_MS}::float8 / 1000)) AS "activeWorkers",
      coalesce(q.concurrency_key_limit, 1) AS "keyLimit", q.concurrency_limit AS "queueLimit",
      CASE WHEN e.limited AND e.concurrency_key IS NOT NULL THEN
        (SELECT count(*) FROM executions o WHERE o.environment_id = e.environment_id AND o.queue = e.queue
          AND o.concurrency_key = e.concurrency_key AND o.limited AND o.admitted)
      ELSE 0 END AS "heldByKey",
      e.workspace_id AS "workspaceId", CASE WHEN e.workspace_id IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
          AND w.capacity_workspaces > 0 AND w.last_seen_at >= to_timestamp(${now - LOST_AFTER_MS}::float8 / 1000))
      END AS "workspaceWorkers", m.status AS "workspaceStatus", m.worker_id AS "workspaceWorkerId"
    FROM executions e
    LEFT JOIN materializations m ON m.environment_id = e.environment_id AND m.workspace_id = e.workspace_id
      AND m.status IN ('requested', 'preparing', 'live', 'stopping')
    JOIN worker_groups g ON g.id = e.worker_group_id
    LEFT JOIN queues q ON q.environment_id = e.environment_id AND q.name = e.queue
    WHERE e.environment_id = ${environmentId} AND e.run_id = ANY(${runIds}::uuid[])`);
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** Why a live run is not running, in words that say what to look at; null while a worker has it. */
export function statusReason(facts: StatusFacts): StatusReason | null {
  switch (facts.status) {
    case "running":
    case "cancel_requested":
      return null;
    case "waiting":
      return { kind: "waiting", message: "The run waits; pending_wait says for what.", details: null };
    case "retry_delayed":
      return {
        kind: "retry_delay",
        message: "The last attempt failed; the next one is due at available_at.",
        details: { available_at: facts.availableAt === null ? null : iso(facts.availableAt) },
      };
    case "queued":
      return queuedReason(facts);
  }
}

/** What of its workspace a run waits for; null when it waits for a worker's slot as any other. */
function workspaceReason(facts: StatusFacts, workspaceId: string): StatusReason | null {
  const { workspaceStatus, workspaceWorkerId, workspaceWorkers } = facts;
  const details = {
    workspace_id: encodeId("ws", workspaceId),
    workspace_status: workspaceStatus,
    worker_id: workspaceWorkerId === null ? null : encodeId("wkr", workspaceWorkerId),
  };
  if (workspaceStatus === "stopping") {
    return {
      kind: "worker_busy",
      message: "The workspace is being stopped; the run begins once it is free.",
      details,
    };
  }
  if (workspaceStatus === "preparing" || workspaceStatus === "live") {
    return {
      kind: "worker_busy",
      message: "The workspace is live on a worker, and the run begins there when that has a free slot.",
      details,
    };
  }
  if (workspaceWorkers > 0) return null;
  return {
    kind: "no_worker",
    message: "The active workers take no workspaces. Start an agent with room for workspaces.",
    details,
  };
}

function queuedReason(facts: StatusFacts): StatusReason {
  if (facts.availableAt !== null) {
    return {
      kind: "delayed",
      message: "The run was asked to start later.",
      details: { available_at: iso(facts.availableAt) },
    };
  }
  if (!facts.ready && facts.concurrencyKey !== null && facts.heldByKey >= facts.keyLimit) {
    return {
      kind: "concurrency_key",
      message: "Other runs with this concurrency_key hold all of its slots.",
      details: { concurrency_key: facts.concurrencyKey, limit: facts.keyLimit, held: facts.heldByKey },
    };
  }
  if (!facts.ready) {
    return {
      kind: "queue_limit",
      message: "The queue's concurrency limit is reached.",
      details: { queue: facts.queue, limit: facts.queueLimit },
    };
  }
  if (facts.activeWorkers === 0) {
    return {
      kind: "no_worker",
      message: `No active worker in group ${facts.workerGroup}; start one with \`keelson agent\`.`,
      details: { worker_group: facts.workerGroup },
    };
  }
  if (facts.recovering) {
    return {
      kind: "lease_recovery",
      message: "The worker that had the run was lost; another will take it.",
      details: null,
    };
  }
  if (facts.workspaceId !== null) {
    const reason = workspaceReason(facts, facts.workspaceId);
    if (reason !== null) return reason;
  }
  return {
    kind: "worker_busy",
    message: "All workers' slots are in use.",
    details: { active_workers: facts.activeWorkers },
  };
}
