import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/**
 * Shared by all who decide that blobs go, and held alone by a backup that is being written: while it copies what its
 * snapshot names, nothing of it is removed.
 */
const REMOVAL_LOCK = 7_233_101_879;

/** Waits for decisions that are being made, and for another backup. Lasts as long as the connection, which must be the caller's own. */
export async function preventRemovals(connection: Queryable): Promise<void> {
  await connection.query(sql`SELECT pg_advisory_lock(${REMOVAL_LOCK})`);
}

/** False while a backup is being written; else nobody begins one before the transaction ends. */
export async function mayRemove(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ taken: boolean }>(
    sql`SELECT pg_try_advisory_xact_lock_shared(${REMOVAL_LOCK}) AS taken`,
  );
  return row?.taken === true;
}
