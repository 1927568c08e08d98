import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { heard } from "../workers/silence-reads.ts";
import type { LeasedExecution } from "./execution.ts";
import { LEASED_COLUMNS } from "./leased-reads.ts";

export type Claim = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  leaseRequestId: string;
  limit: number;
  /** As many as `limit`. */
  leaseIds: Uuid<"lease">[];
  now: number;
  leaseExpiresAt: number;
  /** When the worker made the call: since then it may have fallen silent. */
  calledAt: number;
  /** The requirements of deployments that the worker meets. */
  meets: readonly string[];
};

/**
 * Of a run `e`: the worker can run its deployment. A worker that meets whatever was ever asked, as nearly all do, is not
 * compared with each run.
 */
export const canRun = (meets: readonly string[]): Sql => sql`(
  NOT EXISTS (SELECT FROM requirements q WHERE q.requirement <> ALL(${meets}::text[]))
  OR NOT EXISTS (
    SELECT FROM runs r JOIN deployments d ON d.environment_id = r.environment_id AND d.id = r.deployment_id
    WHERE r.environment_id = e.environment_id AND r.id = e.run_id AND d.requirement <> ALL(${meets}::text[])))`;

/**
 * Claims ready runs for an active worker, in one statement: the runs, their events and counts, and what the worker
 * was given for this request.
 *
 * `environments_ready` walks the index from environment to environment (a loose scan), so that an environment with a
 * long backlog does not delay the others: each gets its share of the claim. Within one and its priority, runs that have begun
 * before and runs that have not get a half each: thousands that are resumed at once are older than whatever is started
 * then, and would keep it waiting. Who comes first is drawn anew by the claim's first lease id, because a busy worker claims
 * one run at a time and a fixed order would give all of them to one side. SKIP LOCKED lets two claims run side by side.
 * Runs in workspaces are claimed by a statement of their own.
 */
const claimOf = (claim: Claim, { among, worker }: { among: Sql; worker: Sql }): Sql => sql`
    WITH RECURSIVE environments_ready AS (
      (SELECT environment_id FROM executions WHERE worker_group_id = ${claim.workerGroupId} AND ready AND ${among}
       ORDER BY environment_id LIMIT 1)
      UNION ALL
      SELECT (SELECT e.environment_id FROM executions e
              WHERE e.worker_group_id = ${claim.workerGroupId} AND e.ready AND ${among} AND e.environment_id > p.environment_id
              ORDER BY e.environment_id LIMIT 1)
      FROM environments_ready p WHERE p.environment_id IS NOT NULL
    ), candidates AS (
      SELECT c.*
      FROM environments_ready v
      CROSS JOIN (VALUES (0), (1)) AS b (begun)
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority, b.begun FROM executions e
        WHERE e.worker_group_id = ${claim.workerGroupId} AND e.ready AND ${among} AND e.environment_id = v.environment_id
          AND least(e.attempt_number, 1) = b.begun
          AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)})
          AND ${canRun(claim.meets)}
        ORDER BY e.priority DESC, e.run_id
        LIMIT ${claim.limit}
        FOR UPDATE SKIP LOCKED
      ) c
      WHERE EXISTS (SELECT FROM workers w WHERE w.id = ${claim.workerId} AND ${worker})
    ), shares AS (
      SELECT *, row_number() OVER (PARTITION BY environment_id, priority, begun ORDER BY run_id) AS share FROM candidates
    ), ranked AS (
      SELECT environment_id, run_id,
        row_number() OVER (PARTITION BY environment_id
          ORDER BY priority DESC, share, begun = get_byte(uuid_send((${claim.leaseIds}::uuid[])[1]), 15) % 2) AS turn
      FROM shares
    ), picked AS (
      SELECT environment_id, run_id, row_number() OVER (ORDER BY turn, draw, environment_id) AS place
      FROM (SELECT *, md5(environment_id::text || (${claim.leaseIds}::uuid[])[1]) AS draw FROM ranked) r
      ORDER BY turn, draw, environment_id LIMIT ${claim.limit}
    ), ${takePicked(claim)}`;

/** As in the predicates of their indexes. */
const ANYWHERE = {
  among: sql`workspace_id IS NULL AND required_isolation IS NULL`,
  worker: sql`w.status = 'active'`,
};
const ISOLATED = {
  among: sql`workspace_id IS NULL AND required_isolation IS NOT NULL`,
  worker: sql`w.status = 'active' AND ${canIsolate(sql`w.task_isolation`, sql`'namespace'`)}`,
};

export const claimAnywhere = (db: Queryable, claim: Claim): Promise<LeasedExecution[]> =>
  db.query<LeasedExecution>(claimOf(claim, ANYWHERE));

/** The same of runs of tasks that need the namespace tier. */
export const claimIsolated = (db: Queryable, claim: Claim): Promise<LeasedExecution[]> =>
  db.query<LeasedExecution>(claimOf(claim, ISOLATED));

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
        lease_expires_at = ${timestamp(claim.leaseExpiresAt)},
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
      UPDATE workers SET lease_request_id = ${claim.leaseRequestId}, ${heard(claim.calledAt, claim.leaseExpiresAt - claim.now)},
        leased_lease_ids = CASE WHEN lease_request_id = ${claim.leaseRequestId} THEN leased_lease_ids ELSE '{}' END
          || coalesce((SELECT array_agg(lease_id) FROM claimed), '{}')
      WHERE id = ${claim.workerId}
    )
    SELECT ${LEASED_COLUMNS}
    FROM claimed c JOIN runs r ON r.environment_id = c.environment_id AND r.id = c.run_id
    ORDER BY c.place`;
