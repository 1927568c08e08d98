import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type StoredAnswer = { requestDigest: Buffer; status: number; body: string | null };

export async function findStoredAnswer(
  db: Queryable,
  environmentId: string,
  scope: string,
  key: string,
): Promise<StoredAnswer | null> {
  const [row] = await db.query<StoredAnswer>(sql`
    SELECT request_digest AS "requestDigest", response_status AS status, response_body AS body FROM idempotency_keys
    WHERE environment_id = ${environmentId} AND scope = ${scope} AND key = ${key}`);
  return row ?? null;
}
