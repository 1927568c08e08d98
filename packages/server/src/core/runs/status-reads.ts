import type { Isolation, LiveRunStatus, MaterializationStatus, Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";

/** What decides why a live run is not running. */
export type StatusFacts = {
  status: LiveRunStatus;
  /** Its worker has not renewed the lease in time, and nobody else can take the run: when that worker was heard last. */
  silentSince: number | null;
  availableAt: number | null;
  ready: boolean;
  limited: boolean;
  admitted: boolean;
  recovering: boolean;
  setbacks: number;
  queue: string;
  concurrencyKey: string | null;
  workerGroup: string;
  activeWorkers: number;
  /** Of those, the ones that take runs at all. */
  runWorkers: number;
  /** Of those, the ones that can run the run's deployment. */
  ableWorkers: number;
  /** What a worker must meet for that; null: any worker can. */
  requirement: string | null;
  keyLimit: number;
  heldByKey: number;
  /** Some of the runs that hold the slots of the run's key, and of its queue. */
  keyHolders: Uuid<"run">[];
  queueLimit: number | null;
  queueHolders: Uuid<"run">[];
  workspaceId: Uuid<"ws"> | null;
  /** Of the active workers, those that take workspaces. */
  workspaceWorkers: number;
  /** Of those, the ones whose machine can give the workspace's sandbox the isolation that it needs. */
  isolatingWorkers: number;
  requiredIsolation: Isolation | null;
  /** Where the run's workspace is, or is being put; null while it is on no machine. */
  workspaceStatus: MaterializationStatus | null;
  workspaceWorkerId: Uuid<"wkr"> | null;
  /** What the run's task needs of its worker; null: what every worker has. */
  taskIsolation: Isolation | null;
  /** Of the workers that take runs, those that can give it. */
  taskIsolatingWorkers: number;
  /** The worker that has the workspace can give it. */
  workspaceWorkerIsolates: boolean;
};

/** A queue may have thousands of slots: as many runs as a person looks at. */
const MAX_HOLDERS = 5;

/** The first runs that hold a slot of the queue of `e`, as the index has them: what is read does not grow with the queue. */
const holders = (condition = sql``): Sql => sql`ARRAY(SELECT o.run_id FROM executions o
  WHERE o.environment_id = e.environment_id AND o.queue = e.queue AND o.limited AND o.admitted ${condition} LIMIT ${MAX_HOLDERS})`;

/** A condition on a worker `k` and a run `e`: the worker can give what the run's task needs. */
const CAN_RUN = canIsolate(sql`k.task_isolation`, sql`coalesce(e.required_isolation, 'process')`);

/** Facts for one live run; null when it is not live. */
export async function findStatusFacts(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  now: number,
): Promise<StatusFacts | null> {
  const [facts] = await listStatusFacts(db, environmentId, [runId], now);
  return facts ?? null;
}

/** Facts for those of the runs that are live. */
export function listStatusFacts(
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<(StatusFacts & { runId: Uuid<"run"> })[]> {
  return db.query(sql`
    SELECT e.run_id, e.status, (SELECT h.last_seen_at FROM workers h
        WHERE h.id = e.worker_id AND e.lease_expires_at <= ${timestamp(now)}) AS silent_since, e.available_at, e.ready, e.limited, e.admitted, e.recovering, e.setbacks, e.queue,
      e.concurrency_key, g.name AS worker_group,
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}) AS active_workers,
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.capacity_executions > 0
        AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}) AS run_workers,
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.capacity_executions > 0 AND (d.requirement IS NULL OR d.requirement = ANY(w.meets))
        AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}) AS able_workers, d.requirement,
      coalesce(q.concurrency_key_limit, 1) AS key_limit, q.concurrency_limit AS queue_limit,
      CASE WHEN e.limited AND e.concurrency_key IS NOT NULL THEN
        (SELECT count(*) FROM executions o WHERE o.environment_id = e.environment_id AND o.queue = e.queue
          AND o.concurrency_key = e.concurrency_key AND o.limited AND o.admitted)
      ELSE 0 END AS held_by_key,
      CASE WHEN e.limited AND NOT e.admitted AND e.concurrency_key IS NOT NULL
        THEN ${holders(sql`AND o.concurrency_key = e.concurrency_key`)} ELSE '{}' END AS key_holders,
      CASE WHEN e.limited AND NOT e.admitted THEN ${holders()} ELSE '{}' END AS queue_holders,
      e.workspace_id, CASE WHEN e.workspace_id IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
          AND w.capacity_workspaces > 0 AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)})
      END AS workspace_workers, CASE WHEN e.workspace_id IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers k WHERE k.worker_group_id = e.worker_group_id AND k.status = 'active'
          AND k.capacity_workspaces > 0 AND k.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}
          AND ${CAN_RUN}
          AND (s.status IS DISTINCT FROM 'active' OR ${canIsolate(sql`k.isolation`, sql`s.sandbox_spec::json ->> 'isolation'`)}))
      END AS isolating_workers, s.sandbox_spec::json ->> 'isolation' AS required_isolation, m.status AS workspace_status, m.worker_id AS workspace_worker_id,
      e.required_isolation AS task_isolation, CASE WHEN e.required_isolation IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers k WHERE k.worker_group_id = e.worker_group_id AND k.status = 'active'
          AND k.capacity_executions > 0 AND k.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)} AND ${CAN_RUN})
      END AS task_isolating_workers, e.required_isolation IS NULL OR coalesce(
        (SELECT ${CAN_RUN} FROM workers k WHERE k.id = m.worker_id), false) AS workspace_worker_isolates
    FROM executions e
    LEFT JOIN workspaces s ON s.environment_id = e.environment_id AND s.id = e.workspace_id
    LEFT JOIN materializations m ON m.environment_id = e.environment_id AND m.workspace_id = e.workspace_id
      AND m.status IN ('requested', 'preparing', 'live', 'stopping', 'uncommitted')
    JOIN worker_groups g ON g.id = e.worker_group_id
    ${joinByKey("runs", "r", sql`r.environment_id = e.environment_id AND r.id = e.run_id`)}
    JOIN deployments d ON d.environment_id = r.environment_id AND d.id = r.deployment_id
    LEFT JOIN queues q ON q.environment_id = e.environment_id AND q.name = e.queue
    WHERE e.environment_id = ${environmentId} AND e.run_id = ANY(${runIds}::uuid[])`);
}
