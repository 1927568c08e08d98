import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { LeasedExecution } from "./execution.ts";

/** Of a live row `c` and its run `r`. */
export const LEASED_COLUMNS = rawSql(`
  c.lease_id, c.epoch, c.lease_expires_at, c.environment_id,
  r.project_id, c.run_id, r.entrypoint_kind, r.entrypoint,
  c.attempt_number, c.continuations, c.attempts_before, r.retry, c.max_duration_ms, r.payload,
  coalesce(c.metadata, r.metadata) AS metadata, r.tags, r.queue, r.created_at, r.start_at,
  r.deployment_id, r.deployment_version, c.journal_sequence,
  c.wait_count, c.limited, c.active_ms, r.session_id, r.turn, r.workspace_id,
  r.schedule_id, r.parent_run_id`);

/** The leases that an earlier answer to the same request gave, as far as the worker still holds them. */
export function listLeasedExecutions(
  db: Queryable,
  workerId: Uuid<"wkr">,
  leaseIds: readonly Uuid<"lease">[],
): Promise<LeasedExecution[]> {
  return db.query<LeasedExecution>(sql`
    SELECT ${LEASED_COLUMNS}
    FROM executions c JOIN runs r ON r.environment_id = c.environment_id AND r.id = c.run_id
    WHERE c.worker_id = ${workerId} AND c.lease_id = ANY(${leaseIds}::uuid[])
    ORDER BY c.run_id`);
}
