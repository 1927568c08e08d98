import type { Uuid } from "@keelson/contract";
import { joinByKey, lockByKey } from "../../db/join-by-key.ts";
import type { Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type HeldLease = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  leaseId: Uuid<"lease">;
  epoch: number;
};

/**
 * Renews every lease that is still the worker's. Returns those; what is missing is lost. Rows are locked in key order first, as
 * everywhere, so that a renewal and a report never wait for each other.
 * A lease that is renewed after its end was not used meanwhile as far as anybody knows: the worker, the server or PostgreSQL
 * was away. The instant at which the attempt is overruled moves by as much; its time the worker measures itself.
 */
export async function renewLeases(
  tx: Tx,
  workerId: Uuid<"wkr">,
  leases: readonly HeldLease[],
  { now, expiresAt }: { now: number; expiresAt: number },
): Promise<{ leaseId: Uuid<"lease"> }[]> {
  const held = await lockHeldLeases(tx, workerId, leases);
  if (held.length === 0) return [];
  // Places are those of the locked rows: they were found by a statement of its own, and nobody else moves them.
  return tx.query(sql`
    UPDATE executions e SET lease_expires_at = ${timestamp(expiresAt)},
      deadline_at = e.deadline_at + greatest(interval '0', ${timestamp(now)} - e.lease_expires_at)
    FROM ${listed(held)}
    ${joinByKey("executions", "x", sql`x.environment_id = l.environment_id AND x.run_id = l.run_id`, "ctid AS place")}
    WHERE e.ctid = x.place
    RETURNING e.lease_id`);
}

/** Each is looked up by its key: a join with the list would hold each row of it against each that is found. */
function lockHeldLeases(tx: Tx, workerId: Uuid<"wkr">, leases: readonly HeldLease[]): Promise<HeldLease[]> {
  return tx.query<HeldLease>(sql`
    SELECT k.environment_id, k.run_id, k.lease_id, k.epoch
    FROM ${listed(leases)}
    ${lockByKey(
      "FOR UPDATE",
      "executions",
      "k",
      sql`k.environment_id = l.environment_id AND k.run_id = l.run_id`,
      "environment_id, run_id, lease_id, epoch, worker_id",
    )}
    WHERE k.lease_id = l.lease_id AND k.epoch = l.epoch AND k.worker_id = ${workerId}`);
}

/** In the order of the keys, which PostgreSQL keeps when it looks each of them up. */
const listed = (leases: readonly HeldLease[]): Sql => sql`(
    SELECT * FROM unnest(
      ${leases.map((lease) => lease.environmentId)}::uuid[], ${leases.map((lease) => lease.runId)}::uuid[],
      ${leases.map((lease) => lease.leaseId)}::uuid[], ${leases.map((lease) => lease.epoch)}::integer[]
    ) AS n (environment_id, run_id, lease_id, epoch)
    ORDER BY environment_id, run_id
  ) AS l`;
