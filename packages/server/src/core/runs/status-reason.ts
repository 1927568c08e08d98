import type { LiveRunStatus, StatusReason } from "@keelson/contract";
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
};

/** Facts for one live run; null when it is not live. */
export async function findStatusFacts(
  db: Queryable,
  environmentId: string,
  runId: string,
  now: number,
): Promise<StatusFacts | null> {
  const [row] = await db.query<StatusFacts>(sql`
    SELECT e.status, e.available_at AS "availableAt", e.ready, e.limited, e.admitted, e.recovering, e.queue,
      e.concurrency_key AS "concurrencyKey", g.name AS "workerGroup",
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.last_seen_at >= to_timestamp(${now - LOST_AFTER_MS}::float8 / 1000)) AS "activeWorkers",
      coalesce(q.concurrency_key_limit, 1) AS "keyLimit", q.concurrency_limit AS "queueLimit",
      CASE WHEN e.limited AND e.concurrency_key IS NOT NULL THEN
        (SELECT count(*) FROM executions o WHERE o.environment_id = e.environment_id AND o.queue = e.queue
          AND o.concurrency_key = e.concurrency_key AND o.limited AND o.admitted)
      ELSE 0 END AS "heldByKey"
    FROM executions e
    JOIN worker_groups g ON g.id = e.worker_group_id
    LEFT JOIN queues q ON q.environment_id = e.environment_id AND q.name = e.queue
    WHERE e.environment_id = ${environmentId} AND e.run_id = ${runId}`);
  return row ?? null;
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
  return {
    kind: "worker_busy",
    message: "All workers' slots are in use.",
    details: { active_workers: facts.activeWorkers },
  };
}
