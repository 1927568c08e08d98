import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** Whom an account elsewhere belongs to. */
export async function findLinkedUser(
  db: Queryable,
  provider: "github",
  subject: string,
): Promise<Uuid<"user"> | null> {
  const [row] = await db.query<{ userId: Uuid<"user"> }>(sql`
    SELECT user_id FROM user_identities WHERE provider = ${provider} AND subject = ${subject}`);
  return row?.userId ?? null;
}
