import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** Stores the fingerprint of the installation's master key, unless there is one. */
export async function rememberFingerprint(db: Queryable, fingerprint: Buffer): Promise<void> {
  await db.query(sql`
    INSERT INTO installation (master_key_fingerprint) VALUES (${fingerprint}) ON CONFLICT (singleton) DO NOTHING`);
}

/** Gives the installation its tag, unless it has one. Of two servers with different tags the second one finds it taken. */
export async function rememberCell(db: Queryable, cell: string): Promise<void> {
  await db.query(sql`UPDATE installation SET cell = ${cell} WHERE cell IS NULL`);
}

export async function findCell(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ cell: string | null }>(sql`SELECT cell FROM installation`);
  return row?.cell ?? null;
}

export async function findFingerprint(db: Queryable): Promise<Buffer | null> {
  const [row] = await db.query<{ fingerprint: Buffer }>(
    sql`SELECT master_key_fingerprint AS fingerprint FROM installation`,
  );
  return row?.fingerprint ?? null;
}

/**
 * The number of the installation's key, which stays its key until the transaction ends; null when it is another one than
 * `fingerprint` tells.
 */
export async function holdKeyNumber(tx: Tx, fingerprint: Buffer): Promise<number | null> {
  const [row] = await tx.query<{ number: number }>(sql`
    SELECT master_key_number AS number FROM installation WHERE master_key_fingerprint = ${fingerprint} FOR SHARE`);
  return row?.number ?? null;
}

/** @returns the number of the key with `from`; null, and without effect, when the installation's is another one. */
export async function changeFingerprint(tx: Tx, from: Buffer, to: Buffer): Promise<number | null> {
  const [row] = await tx.query<{ replaced: number }>(sql`
    UPDATE installation SET master_key_fingerprint = ${to}, master_key_number = master_key_number + 1
    WHERE master_key_fingerprint = ${from}
    RETURNING master_key_number - 1 AS replaced`);
  return row?.replaced ?? null;
}
