import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type StoredAnswer = { requestDigest: Buffer; status: number; body: string | null };

export async function findStoredAnswer(
  db: Queryable,
  environmentId: Uuid<"env">,
  scope: string,
  key: string,
): Promise<StoredAnswer | null> {
  const [row] = await db.query<StoredAnswer>(sql`
    SELECT request_digest, response_status AS status, response_body AS body FROM idempotency_keys
    WHERE environment_id = ${environmentId} AND scope = ${scope} AND key = ${key}`);
  return row ?? null;
}
