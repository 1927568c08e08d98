import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** A repeat changes nothing. */
export async function insertBundle(
  db: Queryable,
  environmentId: string,
  digest: Buffer,
  sizeBytes: number,
): Promise<void> {
  await db.query(sql`
    INSERT INTO bundles (environment_id, digest, size_bytes) VALUES (${environmentId}, ${digest}, ${sizeBytes})
    ON CONFLICT (environment_id, digest) DO NOTHING`);
}
