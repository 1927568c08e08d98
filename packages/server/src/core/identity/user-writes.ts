import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** False when the address has a user: two sign-ins of a new one make one user. */
export async function insertUser(
  tx: Tx,
  user: { id: Uuid<"user">; email: string; name: string | null; now: number },
): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO users (id, email, name, created_at, updated_at)
    SELECT ${user.id}::uuid, ${user.email}::text, ${user.name}::text, at, at FROM ${timestamp(user.now)} AS at
    ON CONFLICT (lower(email)) DO NOTHING RETURNING id`);
  return rows.length > 0;
}
