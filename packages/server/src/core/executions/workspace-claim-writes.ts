import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { canRun, READ_CLAIMED, takePicked, type Claim } from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";

/** A condition on a worker `k` and a run `e`. */
const CAN_RUN = canIsolate(sql`k.task_isolation`, sql`coalesce(e.required_isolation, 'process')`);

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
  const { workerId, workerGroupId } = claim;
  return db.query<LeasedExecution>(sql`
    WITH RECURSIVE places AS (
      (SELECT environment_id, workspace_id FROM executions
       WHERE worker_group_id = ${workerGroupId} AND ready AND workspace_id IS NOT NULL
       ORDER BY environment_id, workspace_id LIMIT 1)
      UNION ALL
      SELECT n.environment_id, n.workspace_id
      FROM places p CROSS JOIN LATERAL (
        SELECT e.environment_id, e.workspace_id FROM executions e
        WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND e.workspace_id IS NOT NULL
          AND (e.environment_id, e.workspace_id) > (p.environment_id, p.workspace_id)
        ORDER BY e.environment_id, e.workspace_id LIMIT 1
      ) n
    ), mine AS (
      SELECT m.environment_id, m.workspace_id FROM materializations m
      WHERE m.worker_id = ${workerId} AND m.status IN ('preparing', 'live', 'stopping')
      UNION
      SELECT e.environment_id, e.workspace_id FROM executions e
      WHERE e.worker_id = ${workerId} AND e.workspace_id IS NOT NULL
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
      WHERE k.status = 'active' AND (k.task_isolation = 'namespace' OR EXISTS (
        SELECT FROM executions e
        WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND e.environment_id = p.environment_id
          AND e.workspace_id = p.workspace_id AND ${CAN_RUN})
      ) AND (
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
        SELECT e.environment_id, e.run_id, e.priority FROM executions e
        WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND e.environment_id = v.environment_id
          AND e.workspace_id = v.workspace_id AND ${CAN_RUN}
          AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)})
          AND ${canRun(claim.meets)}
        ORDER BY e.priority DESC, e.run_id
        LIMIT ${claim.limit}
        FOR UPDATE SKIP LOCKED
      ) c
    ), picked AS (
      SELECT environment_id, run_id, row_number() OVER (ORDER BY turn, draw) AS place
      FROM (
        SELECT *, row_number() OVER (PARTITION BY environment_id, draw ORDER BY priority DESC, run_id) AS turn FROM candidates
      ) r
      ORDER BY turn, draw LIMIT ${claim.limit}
    ), ${takePicked(claim)} ${READ_CLAIMED}`);
}
