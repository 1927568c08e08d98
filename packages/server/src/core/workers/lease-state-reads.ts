import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { canIsolate } from "./isolation-reads.ts";

/** What a lease call needs to know of its worker: whether it may take runs, and what the newest call was given. */
export type LeaseState = {
  status: "registered" | "active" | "draining" | "drained";
  /** Milliseconds. */
  lastSeenAt: number;
  leaseRequestId: string | null;
  leasedLeaseIds: Uuid<"lease">[];
  /** The requirements of deployments that it meets. */
  meets: string[];
  /** It takes workspaces, and runs of its group wait for one. */
  workspaceRunsWait: boolean;
  /** It runs tasks in the namespace tier, and runs of its group wait for that. */
  isolatedRunsWait: boolean;
};

export async function findLeaseState(db: Queryable, workerId: Uuid<"wkr">): Promise<LeaseState | null> {
  const [row] = await db.query<LeaseState>(sql`
    SELECT w.status, w.last_seen_at, w.lease_request_id, w.leased_lease_ids, w.meets,
      w.capacity_workspaces > 0 AND EXISTS (
        SELECT FROM executions e WHERE e.worker_group_id = w.worker_group_id AND e.ready AND e.workspace_id IS NOT NULL
      ) AS workspace_runs_wait,
      ${canIsolate(sql`coalesce(w.task_isolation, 'process')`, sql`'namespace'`)} AND EXISTS (
        SELECT FROM executions e
        WHERE e.worker_group_id = w.worker_group_id AND e.ready AND e.workspace_id IS NULL AND e.required_isolation IS NOT NULL
      ) AS isolated_runs_wait
    FROM workers w WHERE w.id = ${workerId}`);
  return row ?? null;
}
