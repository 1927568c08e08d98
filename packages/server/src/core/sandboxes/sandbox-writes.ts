import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** Gives an id to each declared id that has none yet; the others keep theirs. */
export async function insertSandboxes(
  db: Queryable,
  environmentId: Uuid<"env">,
  sandboxes: readonly { id: Uuid<"sbx">; declaredId: string }[],
): Promise<void> {
  await db.query(sql`
    INSERT INTO sandboxes (environment_id, id, declared_id)
    SELECT ${environmentId}::uuid, id, declared_id
    FROM unnest(${sandboxes.map((s) => s.id)}::uuid[], ${sandboxes.map((s) => s.declaredId)}::text[]) AS s (id, declared_id)
    ORDER BY declared_id
    ON CONFLICT (environment_id, declared_id) DO NOTHING`);
}

/** The first result of a setup is kept. */
export async function insertSandboxBase(
  tx: Tx,
  environmentId: Uuid<"env">,
  setupDigest: Buffer,
  versionId: Uuid<"wsv">,
  now: number,
): Promise<void> {
  await tx.query(sql`
    INSERT INTO sandbox_bases (environment_id, setup_digest, version_id, created_at)
    VALUES (${environmentId}, ${setupDigest}, ${versionId}, ${timestamp(now)})
    ON CONFLICT (environment_id, setup_digest) DO NOTHING`);
}
