import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { canIsolate } from "./isolation-reads.ts";

/** What a call for work needs to know of its worker. */
export type LeaseState = {
  status: "registered" | "active" | "draining" | "drained";
  /** Milliseconds. */
  lastSeenAt: number;
  /** What an earlier call with the same request id was given. */
  givenLeaseIds: Uuid<"lease">[];
  /** The requirements of deployments that it meets. */
  meets: string[];
  /** It takes workspaces, and runs of its group wait for one, or may. */
  workspaceRunsWait: boolean;
  /** It runs tasks in the namespace tier, and runs of its group wait for that, or may. */
  isolatedRunsWait: boolean;
  /** Other runs of its group, or deployments to check, wait, or may. */
  othersWait: boolean;
};

const CHECKS_WAIT = sql`EXISTS (
  SELECT FROM deployments p JOIN environments v ON v.id = p.environment_id
  WHERE p.status = 'pending' AND v.worker_group_id = w.worker_group_id)`;

/**
 * @param leaseRequestId of the call
 * @param areRunsKnown whether it is known which runs wait: they need not be looked for
 * @param asksForOthers whether it is worth a look if anything waits at all: a worker that was told of something looks anyway
 */
export async function findLeaseState(
  db: Queryable,
  workerId: Uuid<"wkr">,
  leaseRequestId: string,
  { areRunsKnown, asksForOthers }: { areRunsKnown: boolean; asksForOthers: boolean },
): Promise<LeaseState | null> {
  const wait = (among: Sql): Sql =>
    areRunsKnown
      ? sql`true`
      : sql`EXISTS (SELECT FROM executions e WHERE e.worker_group_id = w.worker_group_id AND e.ready AND ${among})`;
  const [row] = await db.query<LeaseState>(sql`
    SELECT w.status, w.last_seen_at, w.meets,
      coalesce(
        (SELECT l.lease_ids FROM lease_requests l WHERE l.worker_id = w.id AND l.lease_request_id = ${leaseRequestId}),
        -- Servers of the version before remember it here.
        CASE WHEN w.lease_request_id = ${leaseRequestId} THEN w.leased_lease_ids END, '{}') AS given_lease_ids,
      w.capacity_workspaces > 0 AND ${wait(sql`e.workspace_id IS NOT NULL`)} AS workspace_runs_wait,
      ${canIsolate(sql`coalesce(w.task_isolation, 'process')`, sql`'namespace'`)} AND ${wait(sql`e.workspace_id IS NULL AND e.required_isolation IS NOT NULL`)} AS isolated_runs_wait,
      ${asksForOthers ? sql`${wait(sql`e.workspace_id IS NULL AND e.required_isolation IS NULL`)} OR ${CHECKS_WAIT}` : sql`true`} AS others_wait
    FROM workers w WHERE w.id = ${workerId}`);
  return row ?? null;
}

/** Null for a worker that there is not. */
export async function findWorkerStatus(
  db: Queryable,
  workerId: Uuid<"wkr">,
): Promise<LeaseState["status"] | null> {
  const [row] = await db.query<Pick<LeaseState, "status">>(
    sql`SELECT status FROM workers WHERE id = ${workerId}`,
  );
  return row?.status ?? null;
}

/** The same, with whether the worker has a materialization, or one of its group waits for a worker. */
export async function findWorkspaceState(
  db: Queryable,
  workerId: Uuid<"wkr">,
): Promise<(Pick<LeaseState, "status"> & { someAreThere: boolean }) | null> {
  const [row] = await db.query<Pick<LeaseState, "status"> & { someAreThere: boolean }>(sql`
    SELECT w.status,
      EXISTS (SELECT FROM materializations m WHERE m.worker_group_id = w.worker_group_id AND m.status = 'requested')
      OR EXISTS (SELECT FROM materializations m
        WHERE m.worker_id = w.id AND m.status IN ('preparing', 'live', 'stopping', 'uncommitted')) AS some_are_there
    FROM workers w WHERE w.id = ${workerId}`);
  return row ?? null;
}
