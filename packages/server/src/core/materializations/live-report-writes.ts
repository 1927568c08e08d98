import type { Isolation, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type LiveReport = {
  environmentId: Uuid<"env">;
  materializationId: Uuid<"mat">;
  workerId: Uuid<"wkr">;
  epoch: number;
  isolation: Isolation;
  /** Processes that came with the lease. */
  starts: readonly Uuid<"exec" | "pty">[];
  now: number;
};

/**
 * Makes a materialization live that its worker has prepared, and starts what waits for that, in one statement: somebody waits
 * for the first byte, and a transaction takes nine round trips. Null, and nothing is done, in every other case.
 *
 * The locks are those of `reportMaterialization`, in the same order, and what is locked is compared again.
 */
export async function markPreparedLive(
  db: Queryable,
  report: LiveReport,
): Promise<{ workspaceId: Uuid<"ws">; started: Uuid<"exec" | "pty">[] } | null> {
  const [row] = await db.query<{ workspaceId: Uuid<"ws">; started: Uuid<"exec" | "pty">[] }>(sql`
    WITH held AS (
      SELECT m.environment_id, m.id, m.workspace_id
      FROM workspaces w JOIN materializations m ON m.environment_id = w.environment_id AND m.workspace_id = w.id
      WHERE m.environment_id = ${report.environmentId} AND m.id = ${report.materializationId} AND m.epoch = ${report.epoch}
        AND m.worker_id = ${report.workerId} AND m.status = 'preparing'
        AND (m.required_isolation = 'process' OR ${report.isolation}::text = 'namespace')
      FOR NO KEY UPDATE OF w, m
    ), live AS (
      UPDATE materializations m SET status = 'live', isolation = ${report.isolation}, lost_version_id = NULL,
        started_at = at, active_at = greatest(m.active_at, at), updated_at = at
      FROM held h, ${timestamp(report.now)} AS at WHERE m.environment_id = h.environment_id AND m.id = h.id
    ), begun AS (
      UPDATE processes p SET status = 'running', materialization_id = h.id, started_at = at, updated_at = at
      FROM held h, ${timestamp(report.now)} AS at
      WHERE p.environment_id = h.environment_id AND p.workspace_id = h.workspace_id AND p.id = ANY(${report.starts}::uuid[])
        AND p.status = 'pending' AND NOT p.awaits_run AND (p.materialization_id IS NULL OR p.materialization_id = h.id)
      RETURNING p.id
    )
    SELECT h.workspace_id, ARRAY(SELECT id FROM begun) AS started FROM held h`);
  return row ?? null;
}
