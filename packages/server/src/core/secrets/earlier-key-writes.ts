import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type EarlierKeyRow = { number: number; wrappedKey: Buffer };

export function listEarlierKeys(db: Queryable): Promise<EarlierKeyRow[]> {
  return db.query<EarlierKeyRow>(sql`SELECT number, wrapped_key FROM earlier_master_keys ORDER BY number`);
}

/** Of the key that was replaced, and of those before it, which are wrapped anew. */
export async function putEarlierKeys(tx: Tx, rows: readonly EarlierKeyRow[]): Promise<void> {
  await tx.query(sql`
    INSERT INTO earlier_master_keys (number, wrapped_key)
    SELECT number, wrapped_key FROM unnest(${rows.map(({ number }) => number)}::integer[],
      ${rows.map(({ wrappedKey }) => wrappedKey)}::bytea[]) AS k (number, wrapped_key)
    ON CONFLICT (number) DO UPDATE SET wrapped_key = excluded.wrapped_key`);
}
