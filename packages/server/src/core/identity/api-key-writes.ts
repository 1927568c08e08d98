import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type NewApiKey = {
  id: string;
  digest: Buffer;
  environmentId: string;
  name: string;
  permissions: readonly string[];
  createdBy: string;
  expiresAt: number | null;
  now: number;
};

export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<void> {
  await tx.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions, created_by, created_at, expires_at)
    VALUES (${key.digest}, ${key.id}, ${key.environmentId}, ${key.name}, ${key.permissions}::text[], ${key.createdBy},
      to_timestamp(${key.now}::float8 / 1000), to_timestamp(${key.expiresAt}::float8 / 1000))`);
}

/** False when it was revoked before. */
export async function markApiKeyRevoked(
  tx: Tx,
  environmentId: string,
  keyId: string,
  now: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE api_keys SET revoked_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${keyId} AND revoked_at IS NULL RETURNING id`);
  return rows.length > 0;
}
