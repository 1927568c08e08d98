import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** False when there is a group of that name. */
export async function insertWorkerGroup(
  tx: Tx,
  group: { id: Uuid<"wgrp">; name: string; now: number },
): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO worker_groups (id, name, created_at)
    VALUES (${group.id}, ${group.name}, ${timestamp(group.now)})
    ON CONFLICT (name) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

export type NewEnrollmentToken = {
  id: Uuid<"enr">;
  digest: Buffer;
  workerGroupId: Uuid<"wgrp">;
  name: string;
  expiresAt: number | null;
  now: number;
};

export async function insertEnrollmentToken(tx: Tx, token: NewEnrollmentToken): Promise<void> {
  await tx.query(sql`
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name, created_at, expires_at)
    VALUES (${token.digest}, ${token.id}, ${token.workerGroupId}, ${token.name},
      ${timestamp(token.now)}, ${timestamp(token.expiresAt)})`);
}

/** False when it was revoked before. */
export async function markEnrollmentRevoked(tx: Tx, tokenId: Uuid<"enr">, now: number): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE enrollment_tokens SET revoked_at = ${timestamp(now)}
    WHERE id = ${tokenId} AND revoked_at IS NULL RETURNING id`);
  return rows.length > 0;
}
