import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** The identity of a declared id; what it declares is the current deployment's. */
export type SandboxRow = { id: string; declaredId: string; createdAt: number };

export async function findSandbox(
  db: Queryable,
  environmentId: string,
  sandboxId: string,
): Promise<SandboxRow | null> {
  const [row] = await db.query<SandboxRow>(sql`
    SELECT id, declared_id AS "declaredId", created_at AS "createdAt" FROM sandboxes
    WHERE environment_id = ${environmentId} AND id = ${sandboxId}`);
  return row ?? null;
}

/** Those of the declared ids, newest first, after the sandbox `before`. */
export function listSandboxes(
  db: Queryable,
  environmentId: string,
  declaredIds: readonly string[],
  before: string | null,
  limit: number,
): Promise<SandboxRow[]> {
  return db.query<SandboxRow>(sql`
    SELECT id, declared_id AS "declaredId", created_at AS "createdAt" FROM sandboxes
    WHERE environment_id = ${environmentId} AND declared_id = ANY(${declaredIds}::text[])
      AND (${before}::uuid IS NULL OR id < ${before}::uuid)
    ORDER BY id DESC LIMIT ${limit}`);
}

/** The version that the commands once made, when its workspace is still there. */
export async function findSandboxBase(
  db: Queryable,
  environmentId: string,
  setupDigest: Buffer,
): Promise<string | null> {
  const [row] = await db.query<{ versionId: string }>(sql`
    SELECT version_id AS "versionId" FROM sandbox_bases
    WHERE environment_id = ${environmentId} AND setup_digest = ${setupDigest}`);
  return row?.versionId ?? null;
}
