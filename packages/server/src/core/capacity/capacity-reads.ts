import type { WorkerStatus, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";
import { QUEUED_MAXIMUM, type GroupLoad } from "./capacity.ts";

/** Which groups: one, or all after `before`, newest first. */
export type GroupChoice = { groupId: Uuid<"wgrp"> | null; before: string | null; limit: number };

type Row = Omit<GroupLoad, "workers" | "slots" | "taken" | "size"> & {
  [Status in WorkerStatus as `${Status}Workers`]: number;
} & {
  slotsExecutions: number;
  slotsWorkspaces: number;
  takenExecutions: number;
  takenWorkspaces: number;
  sizeExecutions: number;
  sizeWorkspaces: number;
};

/**
 * What a group has to do and can hold, from rows and not from what workers said: a run that was leased a moment ago counts.
 * Each part is found by an index of live rows, so that history costs nothing; a backlog is counted to a maximum. A parked run
 * is not counted: it has a process, and no slot.
 */
export async function listGroupLoads(
  db: Queryable,
  { groupId, before, limit }: GroupChoice,
  now: number,
): Promise<GroupLoad[]> {
  const rows = await db.query<Row>(sql`
    SELECT g.id, g.name, q.queued, q.oldest_queued_at, coalesce(w.running, 0)::int8 AS running,
      (SELECT count(*) FROM materializations m WHERE m.worker_group_id = g.id AND m.status = 'requested') AS workspaces_requested,
      coalesce(w.workspaces, 0)::int8 AS workspaces_live,
      (SELECT count(*) FROM deployments d JOIN environments v ON v.id = d.environment_id
       WHERE d.status = 'pending' AND v.worker_group_id = g.id) AS deployments_pending,
      w.registered_workers, w.active_workers, w.draining_workers, w.drained_workers, w.lost_workers,
      coalesce(w.slots_executions, 0)::int8 AS slots_executions, coalesce(w.slots_workspaces, 0)::int8 AS slots_workspaces,
      coalesce(w.taken_executions, 0)::int8 AS taken_executions, coalesce(w.taken_workspaces, 0)::int8 AS taken_workspaces,
      coalesce(w.size, s.executions, 0)::int8 AS size_executions, coalesce(w.workspace_size, s.workspaces, 0)::int8 AS size_workspaces
    FROM worker_groups g
    CROSS JOIN LATERAL (
      SELECT count(*) AS queued, min(r.updated_at) AS oldest_queued_at
      FROM (SELECT e.updated_at FROM executions e WHERE e.worker_group_id = g.id AND e.ready LIMIT ${QUEUED_MAXIMUM}) r
    ) q
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE k.status = 'registered') AS registered_workers,
        count(*) FILTER (WHERE k.status = 'active') AS active_workers,
        count(*) FILTER (WHERE k.status = 'draining') AS draining_workers,
        count(*) FILTER (WHERE k.status = 'drained') AS drained_workers,
        count(*) FILTER (WHERE k.status = 'lost') AS lost_workers,
        sum(k.running) AS running, sum(k.workspaces) AS workspaces,
        round(avg(k.capacity_executions) FILTER (WHERE k.status = 'active')) AS size,
        round(avg(k.capacity_workspaces) FILTER (WHERE k.status = 'active')) AS workspace_size,
        sum(k.capacity_executions) FILTER (WHERE k.status = 'active') AS slots_executions,
        sum(k.capacity_workspaces) FILTER (WHERE k.status = 'active') AS slots_workspaces,
        sum(k.running) FILTER (WHERE k.status = 'active') AS taken_executions,
        sum(k.workspaces) FILTER (WHERE k.status = 'active') AS taken_workspaces
      FROM (
        SELECT o.capacity_executions, o.capacity_workspaces,
          CASE WHEN o.status <> 'drained' AND o.last_seen_at < ${timestamp(now - LOST_AFTER_MS)}
            THEN 'lost' ELSE o.status END AS status,
          (SELECT count(*) FROM executions e
           WHERE e.worker_id = o.id AND e.status IN ('running', 'cancel_requested')) AS running,
          (SELECT count(*) FROM materializations m
           WHERE m.worker_id = o.id AND m.status IN ('preparing', 'live', 'stopping')) AS workspaces
        FROM workers o WHERE o.worker_group_id = g.id
      ) k
    ) w
    CROSS JOIN LATERAL (
      SELECT round(avg(n.capacity_executions)) AS executions, round(avg(n.capacity_workspaces)) AS workspaces
      FROM (SELECT o.capacity_executions, o.capacity_workspaces FROM workers o
            WHERE o.worker_group_id = g.id AND o.capacity_executions > 0 ORDER BY o.id DESC LIMIT 10) n
    ) s
    WHERE (${groupId}::uuid IS NULL OR g.id = ${groupId}::uuid) AND ${isBefore(sql`g.id`, before)}
    ORDER BY g.id DESC LIMIT ${limit}`);
  return rows.map(toLoad);
}

const toLoad = (row: Row): GroupLoad => ({
  id: row.id,
  name: row.name,
  queued: row.queued,
  running: row.running,
  oldestQueuedAt: row.oldestQueuedAt,
  workspacesRequested: row.workspacesRequested,
  workspacesLive: row.workspacesLive,
  deploymentsPending: row.deploymentsPending,
  workers: {
    registered: row.registeredWorkers,
    active: row.activeWorkers,
    draining: row.drainingWorkers,
    drained: row.drainedWorkers,
    lost: row.lostWorkers,
  },
  slots: { executions: row.slotsExecutions, workspaces: row.slotsWorkspaces },
  taken: { executions: row.takenExecutions, workspaces: row.takenWorkspaces },
  size: { executions: row.sizeExecutions, workspaces: row.sizeWorkspaces },
});
