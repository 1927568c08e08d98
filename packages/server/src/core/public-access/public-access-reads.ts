import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { PublicAccess } from "./public-access.ts";

/** Whether a use is left now. Only the use itself says whether it gets one. */
export async function hasUseLeft(db: Queryable, { environmentId, id }: PublicAccess): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS left FROM public_access_tokens
    WHERE environment_id = ${environmentId} AND id = ${id} AND (max_uses IS NULL OR uses < max_uses)`);
  return rows.length === 1;
}

/** Whether there is such a session, of which a token may be made. */
export async function hasSession(
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM sessions WHERE environment_id = ${environmentId} AND id = ${sessionId}`);
  return rows.length === 1;
}
