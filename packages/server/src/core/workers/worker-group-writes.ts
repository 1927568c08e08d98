import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** False when there is a group of that name. */
export async function insertWorkerGroup(
  tx: Tx,
  group: { id: string; name: string; now: number },
): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO worker_groups (id, name, created_at)
    VALUES (${group.id}, ${group.name}, to_timestamp(${group.now}::float8 / 1000))
    ON CONFLICT (name) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

export type NewEnrollmentToken = {
  id: string;
  digest: Buffer;
  workerGroupId: string;
  name: string;
  expiresAt: number | null;
  now: number;
};

export async function insertEnrollmentToken(tx: Tx, token: NewEnrollmentToken): Promise<void> {
  await tx.query(sql`
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name, created_at, expires_at)
    VALUES (${token.digest}, ${token.id}, ${token.workerGroupId}, ${token.name},
      to_timestamp(${token.now}::float8 / 1000), to_timestamp(${token.expiresAt}::float8 / 1000))`);
}

/** False when it was revoked before. */
export async function markEnrollmentRevoked(tx: Tx, tokenId: string, now: number): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE enrollment_tokens SET revoked_at = to_timestamp(${now}::float8 / 1000)
    WHERE id = ${tokenId} AND revoked_at IS NULL RETURNING id`);
  return rows.length > 0;
}
