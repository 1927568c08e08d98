import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { MissingBlob } from "./backup.ts";

/** No lease of the world that was backed up has got this far: what its workers still say is refused. */
const EPOCHS_AHEAD = 1_000_000;

/** Runs that a worker held: their leases end now, and are held by nobody who could still report under them. */
export async function endExecutionLeases(db: Queryable, now: number): Promise<number> {
  const rows = await db.query(sql`
    UPDATE executions SET lease_id = gen_random_uuid(), epoch = epoch + ${EPOCHS_AHEAD},
      lease_expires_at = ${timestamp(now)}
    WHERE worker_id IS NOT NULL RETURNING 1 AS ended`);
  return rows.length;
}

export async function endMaterializationLeases(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    UPDATE materializations SET epoch = epoch + ${EPOCHS_AHEAD},
      lease_expires_at = CASE WHEN lease_expires_at IS NULL THEN NULL ELSE ${timestamp(now)} END
    WHERE status IN ('requested', 'preparing', 'live', 'stopping')`);
}

/** Deployments that were being checked are offered to the next worker. */
export async function endDeploymentChecks(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    UPDATE deployments SET check_expires_at = ${timestamp(now)}
    WHERE status = 'pending' AND check_expires_at IS NOT NULL`);
}

/** Workers enroll anew; a repeated lease call gets nothing of what its first one was given. */
export async function forgetWorkers(db: Queryable): Promise<void> {
  await db.query(sql`DELETE FROM worker_tokens`);
  await db.query(sql`
    UPDATE workers SET lease_request_id = NULL, leased_lease_ids = '{}', in_use_executions = 0, in_use_workspaces = 0`);
  await db.query(sql`DELETE FROM lease_requests`);
}

/** Says of blobs that they are not stored: the next commit of that content stores it again. */
export async function markBlobsLost(db: Queryable, blobs: readonly MissingBlob[]): Promise<void> {
  const lost = blobs.flatMap(({ environment_id: environmentId, digest }) =>
    environmentId === null ? [] : [{ environmentId, digest: Buffer.from(digest, "hex") }],
  );
  if (lost.length === 0) return;
  await db.query(sql`
    UPDATE blobs b SET size_bytes = NULL
    FROM unnest(${lost.map((blob) => blob.environmentId)}::uuid[], ${lost.map((blob) => blob.digest)}::bytea[]) AS l (environment_id, digest)
    WHERE b.environment_id = l.environment_id AND b.digest = l.digest AND b.removing_since IS NULL`);
}

/** After tables were copied into another database: new ends get numbers after those that are there. */
export async function continueEndNumbers(db: Queryable): Promise<void> {
  await db.query(sql`
    SELECT setval('run_end_numbers', greatest(p.counted_number, n.last_value, x.highest)) AS last_number
    FROM run_rollup_progress p, run_end_numbers n,
      (SELECT coalesce(max(end_number), 0) AS highest FROM run_results WHERE end_number IS NOT NULL) x`);
}

/** What a first start would look up is not known to the planner yet. */
export async function analyzeTables(db: Queryable): Promise<void> {
  await db.query(rawSql("ANALYZE"));
}
