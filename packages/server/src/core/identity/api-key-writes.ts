import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewApiKey = {
  id: Uuid<"key">;
  digest: Buffer;
  environmentId: Uuid<"env">;
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
      ${timestamp(key.now)}, ${timestamp(key.expiresAt)})`);
}

/** False when it was revoked before. */
export async function markApiKeyRevoked(
  tx: Tx,
  environmentId: Uuid<"env">,
  keyId: Uuid<"key">,
  now: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE api_keys SET revoked_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${keyId} AND revoked_at IS NULL RETURNING id`);
  return rows.length > 0;
}
