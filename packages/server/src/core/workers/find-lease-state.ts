import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** What a lease call needs to know of its worker: whether it may take runs, and what the newest call was given. */
export type LeaseState = {
  status: "registered" | "active" | "draining" | "drained";
  leaseRequestId: string | null;
  leasedLeaseIds: string[];
  /** It takes workspaces, and runs of its group wait for one. */
  workspaceRunsWait: boolean;
};

export async function findLeaseState(db: Queryable, workerId: string): Promise<LeaseState | null> {
  const [row] = await db.query<LeaseState>(sql`
    SELECT w.status, w.lease_request_id AS "leaseRequestId", w.leased_lease_ids AS "leasedLeaseIds",
      w.capacity_workspaces > 0 AND EXISTS (
        SELECT FROM executions e WHERE e.worker_group_id = w.worker_group_id AND e.ready AND e.workspace_id IS NOT NULL
      ) AS "workspaceRunsWait"
    FROM workers w WHERE w.id = ${workerId}`);
  return row ?? null;
}
