import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { REMOVAL_LOCK, RETENTION_LOCK } from "../advisory-locks.ts";

/**
 * While a backup copies, nothing goes: no blob, nothing that was kept long enough, and no logs or records from their rows into
 * packs. Waits for decisions that are being made, and for another backup. Lasts as long as the connection, which must be the
 * caller's own.
 */
export async function preventRemovals(connection: Queryable): Promise<void> {
  await connection.query(sql`SELECT pg_advisory_lock(${REMOVAL_LOCK})`);
  await connection.query(sql`SELECT pg_advisory_lock(${RETENTION_LOCK})`);
}

/** False while a backup is being written; else nobody begins one before the transaction ends. */
export async function mayRemove(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ taken: boolean }>(
    sql`SELECT pg_try_advisory_xact_lock_shared(${REMOVAL_LOCK}) AS taken`,
  );
  return row?.taken === true;
}
