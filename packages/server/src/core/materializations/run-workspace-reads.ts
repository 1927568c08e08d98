import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** Keys of workspaces that were made for runs, after `after` and before `horizon`, with what was not used since a time. */
export type RunWorkspaceSweep = {
  environmentId: Uuid<"env">;
  after: string;
  horizon: string;
  usedBefore: number;
  limit: number;
};

/**
 * Of a workspace `w` that was made for a run: nobody has used it since, the run and the session that have it ended before,
 * and nothing needs it. One whose version is what the setup of its sandbox made stays: without it the next workspace of the
 * sandbox would run the setup again.
 */
const isUnused = (before: number): Sql => sql`
  w.last_activity_at < ${timestamp(before)}
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = w.environment_id AND e.workspace_id = w.id)
  AND NOT EXISTS (
    SELECT 1 FROM run_results x
    WHERE x.environment_id = w.environment_id AND x.run_id = w.made_for_run_id AND x.finished_at >= ${timestamp(before)})
  AND NOT EXISTS (
    SELECT 1 FROM sessions s WHERE s.environment_id = w.environment_id AND s.workspace_id = w.id
      AND (s.closed_at IS NULL OR s.closed_at >= ${timestamp(before)}))
  AND NOT EXISTS (
    SELECT 1 FROM materializations m WHERE m.environment_id = w.environment_id AND m.workspace_id = w.id
      AND m.status IN ('requested', 'preparing', 'live', 'stopping', 'uncommitted'))
  AND NOT EXISTS (
    SELECT 1 FROM processes p WHERE p.environment_id = w.environment_id AND p.workspace_id = w.id
      AND p.status IN ('pending', 'running'))
  AND NOT EXISTS (
    SELECT 1 FROM workspace_versions v
    JOIN sandbox_bases b ON b.environment_id = v.environment_id AND b.version_id = v.id
    WHERE v.environment_id = w.environment_id AND v.workspace_id = w.id)`;

/** Active workspaces that were made for a run, with whether they may go. */
export const listRunWorkspaces = (
  db: Queryable,
  sweep: RunWorkspaceSweep,
): Promise<{ id: Uuid<"ws">; isUnused: boolean }[]> =>
  db.query<{ id: Uuid<"ws">; isUnused: boolean }>(sql`
    SELECT w.id, ${isUnused(sweep.usedBefore)} AS is_unused
    FROM (
      SELECT environment_id, id, made_for_run_id, last_activity_at FROM workspaces
      WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after} AND id < ${sweep.horizon}
        AND made_for_run_id IS NOT NULL AND status = 'active'
      ORDER BY id LIMIT ${sweep.limit}
    ) w
    ORDER BY w.id`);

/** False for one in other hands, as of a start that names it: it waits for the next round. */
export async function lockRunWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<boolean> {
  const rows = await tx.query(sql`
    SELECT 1 AS locked FROM workspaces WHERE environment_id = ${environmentId} AND id = ${workspaceId}
    FOR NO KEY UPDATE SKIP LOCKED`);
  return rows.length === 1;
}

/**
 * Whether a locked workspace still may go: a statement of its own after the locking one, so that it sees what was committed
 * before the lock was taken.
 */
export async function findUnusedRunWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  usedBefore: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    SELECT 1 AS found FROM workspaces w
    WHERE w.environment_id = ${environmentId} AND w.id = ${workspaceId}
      AND w.made_for_run_id IS NOT NULL AND w.status = 'active' AND ${isUnused(usedBefore)}`);
  return rows.length === 1;
}
