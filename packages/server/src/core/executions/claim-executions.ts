import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import type { RunLinks } from "../runs/new-run.ts";

/** A leased run with what its process needs. JSON is text. */
export type LeasedExecution = {
  leaseId: string;
  epoch: number;
  leaseExpiresAt: number;
  environmentId: string;
  projectId: string;
  runId: string;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  attemptNumber: number;
  retry: string;
  maxDurationMs: number | null;
  payload: string | null;
  metadata: string | null;
  tags: string[] | null;
  queue: string;
  createdAt: number;
  deploymentId: string;
  deploymentVersion: string;
  /** Entries of its journal: with none there is nothing to replay. */
  journalSequence: number;
  /** Waits that it ever created. */
  waitCount: number;
  /** It holds a slot of its queue. */
  limited: boolean;
  /** How long the attempt has run before it was suspended. */
  activeMs: number;
} & RunLinks;

const LEASED_COLUMNS = rawSql(`
  c.lease_id AS "leaseId", c.epoch, c.lease_expires_at AS "leaseExpiresAt", c.environment_id AS "environmentId",
  r.project_id AS "projectId", c.run_id AS "runId", r.entrypoint_kind AS "entrypointKind", r.entrypoint,
  c.attempt_number AS "attemptNumber", r.retry, c.max_duration_ms AS "maxDurationMs", r.payload,
  coalesce(c.metadata, r.metadata) AS metadata, r.tags, r.queue, r.created_at AS "createdAt",
  r.deployment_id AS "deploymentId", r.deployment_version AS "deploymentVersion", c.journal_sequence AS "journalSequence",
  c.wait_count AS "waitCount", c.limited, c.active_ms AS "activeMs", r.session_id AS "sessionId", r.turn, r.workspace_id AS "workspaceId",
  r.schedule_id AS "scheduleId", r.parent_run_id AS "parentRunId"`);

export type Claim = {
  workerId: string;
  workerGroupId: string;
  leaseRequestId: string;
  limit: number;
  /** As many as `limit`. */
  leaseIds: string[];
  now: number;
  leaseExpiresAt: number;
};

/**
 * Claims ready runs for an active worker, in one statement: the runs, their events and counts, and what the worker
 * was given for this request.
 *
 * `environments_ready` walks the index from environment to environment (a loose scan), so that an environment with a
 * long backlog does not delay the others: each gets its share of the claim. Who comes first is drawn anew by the claim's
 * first lease id, because a busy worker claims one run at a time and a fixed order would give all of them to one
 * environment. SKIP LOCKED lets two claims run side by side. Runs in workspaces are claimed by a statement of their own.
 */
export function claimExecutions(db: Queryable, claim: Claim): Promise<LeasedExecution[]> {
  return db.query<LeasedExecution>(sql`
    WITH RECURSIVE environments_ready AS (
      (SELECT environment_id FROM executions WHERE worker_group_id = ${claim.workerGroupId} AND ready AND workspace_id IS NULL
       ORDER BY environment_id LIMIT 1)
      UNION ALL
      SELECT (SELECT e.environment_id FROM executions e
              WHERE e.worker_group_id = ${claim.workerGroupId} AND e.ready AND e.workspace_id IS NULL AND e.environment_id > p.environment_id
              ORDER BY e.environment_id LIMIT 1)
      FROM environments_ready p WHERE p.environment_id IS NOT NULL
    ), candidates AS (
      SELECT c.*
      FROM environments_ready v
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority FROM executions e
        WHERE e.worker_group_id = ${claim.workerGroupId} AND e.ready AND e.workspace_id IS NULL AND e.environment_id = v.environment_id
          AND (e.expires_at IS NULL OR e.expires_at > to_timestamp(${claim.now}::float8 / 1000))
        ORDER BY e.priority DESC, e.run_id
        LIMIT ${claim.limit}
        FOR UPDATE SKIP LOCKED
      ) c
      WHERE EXISTS (SELECT FROM workers w WHERE w.id = ${claim.workerId} AND w.status = 'active')
    ), ranked AS (
      SELECT environment_id, run_id,
        row_number() OVER (PARTITION BY environment_id ORDER BY priority DESC, run_id) AS turn
      FROM candidates
    ), picked AS (
      SELECT environment_id, run_id, row_number() OVER (ORDER BY turn, draw, environment_id) AS place
      FROM (SELECT *, md5(environment_id::text || (${claim.leaseIds}::uuid[])[1]) AS draw FROM ranked) r
      ORDER BY turn, draw, environment_id LIMIT ${claim.limit}
    ), ${takePicked(claim)}`);
}

/**
 * The rest of a claim's statement, over its CTE `picked` of (environment_id, run_id, place): the runs are leased, with
 * their events and counts and what the worker was given for this request, and read.
 *
 * A lease lost before its attempt began did not use the attempt up, so the number only moves past a begun one.
 */
export const takePicked = (claim: Claim): Sql => sql`
    picks AS (
      SELECT array_agg(DISTINCT environment_id) AS environment_ids, array_agg(run_id ORDER BY place) AS run_ids FROM picked
    ), claimed AS (
      -- Not joined with the picked: the planner, which takes the table for smaller than it is, would hold each row against
      -- each of them, or read the whole table for each.
      UPDATE executions e SET status = 'running', ready = false, epoch = e.epoch + 1,
        lease_id = (${claim.leaseIds}::uuid[])[array_position((SELECT run_ids FROM picks), e.run_id)], worker_id = ${claim.workerId},
        lease_expires_at = to_timestamp(${claim.leaseExpiresAt}::float8 / 1000),
        attempt_number = e.attempt_number + CASE WHEN e.attempt_number = 0 OR e.attempt_started_at IS NOT NULL THEN 1 ELSE 0 END,
        active_ms = CASE WHEN e.attempt_started_at IS NOT NULL THEN 0 ELSE e.active_ms END,
        attempt_started_at = NULL, resumed_at = NULL, deadline_at = NULL, expires_at = NULL, applied_sequence = 0, recovering = false,
        event_sequence = e.event_sequence + 1, updated_at = now()
      WHERE e.environment_id = ANY((SELECT environment_ids FROM picks)::uuid[])
        AND e.run_id = ANY((SELECT run_ids FROM picks)::uuid[])
      RETURNING e.environment_id, e.run_id, e.lease_id, e.epoch, e.lease_expires_at, e.attempt_number, e.max_duration_ms,
        e.metadata, e.event_sequence, e.journal_sequence, e.wait_count, e.limited, e.active_ms,
        array_position((SELECT run_ids FROM picks), e.run_id) AS place
    ), events AS (
      INSERT INTO run_events (environment_id, run_id, sequence, last_sequence, events)
      SELECT environment_id, run_id, event_sequence, event_sequence,
        format('[{"k":"run.leased","t":%s,"a":%s}]', ${claim.now}::bigint, attempt_number)
      FROM claimed
    ), counted AS (
      INSERT INTO run_counts (environment_id, status, shard, count)
      SELECT environment_id, status, pg_backend_pid() % 64, sum(delta)
      FROM (SELECT environment_id, 'queued' AS status, -1 AS delta FROM claimed
            UNION ALL SELECT environment_id, 'running', 1 FROM claimed) d
      GROUP BY environment_id, status ORDER BY environment_id, status
      ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
    ), request AS (
      UPDATE workers SET lease_request_id = ${claim.leaseRequestId}, last_seen_at = to_timestamp(${claim.now}::float8 / 1000),
        leased_lease_ids = CASE WHEN lease_request_id = ${claim.leaseRequestId} THEN leased_lease_ids ELSE '{}' END
          || coalesce((SELECT array_agg(lease_id) FROM claimed), '{}')
      WHERE id = ${claim.workerId}
    )
    SELECT ${LEASED_COLUMNS}
    FROM claimed c JOIN runs r ON r.environment_id = c.environment_id AND r.id = c.run_id
    ORDER BY c.place`;

/** The leases that an earlier answer to the same request gave, as far as the worker still holds them. */
export function listLeasedExecutions(
  db: Queryable,
  workerId: string,
  leaseIds: readonly string[],
): Promise<LeasedExecution[]> {
  return db.query<LeasedExecution>(sql`
    SELECT ${LEASED_COLUMNS}
    FROM executions c JOIN runs r ON r.environment_id = c.environment_id AND r.id = c.run_id
    WHERE c.worker_id = ${workerId} AND c.lease_id = ANY(${leaseIds}::uuid[])
    ORDER BY c.run_id`);
}
