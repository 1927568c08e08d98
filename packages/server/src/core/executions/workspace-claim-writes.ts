import type { Queryable } from "../../db/queryable.ts";
import { amongLive } from "../../db/among-live.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Among } from "../../live-ids.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { canRun, READ_CLAIMED, takePicked, type Claim } from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";
import type { KnownRun } from "./known-runs.ts";
import { readyPlaces } from "./ready-reads.ts";

/** A condition on a worker `k` and a run `e`. */
const CAN_RUN = canIsolate(sql`k.task_isolation`, sql`coalesce(e.required_isolation, 'process')`);

/** Where ready runs are found. */
type Places = {
  /** CTEs, the last of which is `places` of (environment_id, workspace_id): workspaces for which runs are ready. */
  ctes: Sql;
  /** A query that has rows when a run `e` of a place meets the condition. */
  someOf(place: Sql, condition: Sql): Sql;
  /** Runs `e` of a place that meet the condition, locked: as many as may be claimed. */
  lockedOf(place: Sql, condition: Sql): Sql;
};

/**
 * Claims ready runs that work in workspaces, in one statement, for a worker that takes workspaces. A workspace is on one
 * machine at a time, so its runs go to the worker that has it; while no worker has it, to any with room for another one
 * and a strong enough isolation. While it is stopping or uncommitted they wait. A run whose workspace has been deleted, or is still to be
 * made, may go to any worker with room, which finds that out. What the run's own task needs of the worker holds in any case.
 *
 * `places` walks an index from workspace to workspace, so that a long backlog of one costs as little as a single run.
 * Which come first is drawn anew by each claim. Two workers may be given runs of one workspace that nobody has yet: the
 * second is told so when it attaches, and hands its run back.
 */
export function claimInWorkspaces(db: Queryable, claim: Claim): Promise<LeasedExecution[]> {
  const { workerGroupId, limit } = claim;
  const isOf = (place: Sql): Sql => sql`
    e.worker_group_id = ${workerGroupId} AND e.ready AND e.environment_id = ${place}.environment_id AND e.workspace_id = ${place}.workspace_id`;
  return claimAt(db, claim, null, {
    ctes: sql`RECURSIVE ${readyPlaces(workerGroupId)}`,
    someOf: (place, condition) => sql`SELECT FROM executions e WHERE ${isOf(place)} AND ${condition}`,
    lockedOf: (place, condition) => sql`
        SELECT e.environment_id, e.run_id, e.priority FROM executions e WHERE ${isOf(place)} AND ${condition}
        ORDER BY e.priority DESC, e.run_id LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  });
}

/**
 * The same of known runs, which are looked up by their keys.
 *
 * @param known no more of each workspace than may be claimed
 * @param live which leases of the worker live
 */
export function claimInKnownWorkspaces(
  db: Queryable,
  claim: Claim,
  known: readonly KnownRun[],
  live: Among | null,
): Promise<LeasedExecution[]> {
  // Without its workspace, which does not change: there would be another index for it.
  const byKey = sql`
    e.environment_id = n.environment_id AND e.run_id = n.run_id AND e.worker_group_id = ${claim.workerGroupId} AND e.ready`;
  const isOf = (place: Sql): Sql =>
    sql`n.environment_id = ${place}.environment_id AND n.workspace_id = ${place}.workspace_id`;
  return claimAt(db, claim, live, {
    ctes: sql`
    known AS (
      SELECT * FROM unnest(
        ${known.map((run) => run.environmentId)}::uuid[], ${known.map((run) => run.workspaceId)}::uuid[],
        ${known.map((run) => run.runId)}::uuid[]
      ) AS n (environment_id, workspace_id, run_id)
    ), places AS (
      SELECT DISTINCT n.environment_id, n.workspace_id
      FROM known n CROSS JOIN LATERAL (SELECT FROM executions e WHERE ${byKey} LIMIT 1) r
    )`,
    someOf: (place, condition) => sql`
        SELECT FROM known n CROSS JOIN LATERAL (SELECT FROM executions e WHERE ${byKey} AND ${condition} LIMIT 1) r
        WHERE ${isOf(place)}`,
    lockedOf: (place, condition) => sql`
        SELECT r.* FROM known n CROSS JOIN LATERAL (
          SELECT e.environment_id, e.run_id, e.priority FROM executions e WHERE ${byKey} AND ${condition}
          LIMIT 1 FOR UPDATE SKIP LOCKED
        ) r WHERE ${isOf(place)}`,
  });
}

function claimAt(
  db: Queryable,
  claim: Claim,
  live: Among | null,
  { ctes, someOf, lockedOf }: Places,
): Promise<LeasedExecution[]> {
  const { workerId } = claim;
  const mayBeClaimed = sql`${CAN_RUN} AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)}) AND ${canRun(claim.meets)}`;
  return db.query<LeasedExecution>(sql`
    WITH ${ctes}, mine AS (
      SELECT m.environment_id, m.workspace_id FROM materializations m
      WHERE m.worker_id = ${workerId} AND m.status IN ('preparing', 'live', 'stopping')
      UNION
      ${amongLive(
        live,
        sql`e.lease_id`,
        (isAmong) => sql`
      SELECT e.environment_id, e.workspace_id FROM executions e
      WHERE e.worker_id = ${workerId} AND e.workspace_id IS NOT NULL AND ${isAmong}
      ORDER BY e.lease_id`,
      )}
    ), me AS (
      SELECT w.id, w.status, w.isolation, w.task_isolation, w.capacity_workspaces FROM workers w WHERE w.id = ${workerId}
    ), open_places AS (
      SELECT p.environment_id, p.workspace_id, y.workspace_id IS NOT NULL AS is_mine,
        md5(p.workspace_id::text || (${claim.leaseIds}::uuid[])[1]) AS draw
      FROM places p
      LEFT JOIN mine y ON y.environment_id = p.environment_id AND y.workspace_id = p.workspace_id
      LEFT JOIN workspaces w ON w.environment_id = p.environment_id AND w.id = p.workspace_id
      LEFT JOIN materializations m ON m.environment_id = p.environment_id AND m.workspace_id = p.workspace_id
        AND m.status IN ('requested', 'preparing', 'live', 'stopping', 'uncommitted')
      CROSS JOIN me k
      WHERE k.status = 'active' AND (k.task_isolation = 'namespace' OR EXISTS (${someOf(sql`p`, CAN_RUN)})) AND (
        w.status IS DISTINCT FROM 'active'
        OR (m.worker_id = ${workerId} AND m.status IN ('preparing', 'live'))
        OR ((m.id IS NULL OR m.status = 'requested')
          AND ${canIsolate(sql`k.isolation`, sql`w.sandbox_spec::json ->> 'isolation'`)}))
    ), rooms AS (
      SELECT o.environment_id, o.workspace_id, o.draw
      FROM (
        SELECT *, row_number() OVER (PARTITION BY is_mine ORDER BY draw) AS place FROM open_places
      ) o
      WHERE o.is_mine OR o.place <= (
        SELECT k.capacity_workspaces - (SELECT count(*) FROM mine) FROM me k)
    ), candidates AS (
      SELECT c.*, v.draw
      FROM rooms v
      CROSS JOIN me k
      CROSS JOIN LATERAL (
        ${lockedOf(sql`v`, mayBeClaimed)}
      ) c
    ), picked AS (
      SELECT environment_id, run_id, row_number() OVER (ORDER BY turn, draw) AS place
      FROM (
        SELECT *, row_number() OVER (PARTITION BY environment_id, draw ORDER BY priority DESC, run_id) AS turn FROM candidates
      ) r
      ORDER BY turn, draw LIMIT ${claim.limit}
    ), ${takePicked(claim)} ${READ_CLAIMED}`);
}
