import type { Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** The identity of a declared id; what it declares is the current deployment's. */
export type SandboxRow = { id: Uuid<"sbx">; declaredId: string; createdAt: number };

export async function findSandbox(
  db: Queryable,
  environmentId: Uuid<"env">,
  sandboxId: Uuid<"sbx">,
): Promise<SandboxRow | null> {
  const [row] = await db.query<SandboxRow>(sql`
    SELECT id, declared_id, created_at FROM sandboxes
    WHERE environment_id = ${environmentId} AND id = ${sandboxId}`);
  return row ?? null;
}

/** Those of the declared ids, newest first, after the sandbox `before`. */
export function listSandboxes(
  db: Queryable,
  environmentId: Uuid<"env">,
  declaredIds: readonly string[],
  before: string | null,
  limit: number,
): Promise<SandboxRow[]> {
  return db.query<SandboxRow>(sql`
    SELECT id, declared_id, created_at FROM sandboxes
    WHERE environment_id = ${environmentId} AND declared_id = ANY(${declaredIds}::text[])
      AND ${isBefore(sql`id`, before)}
    ORDER BY id DESC LIMIT ${limit}`);
}

/** The version that the commands once made, when its workspace is still there. */
export async function findSandboxBase(
  db: Queryable,
  environmentId: Uuid<"env">,
  setupDigest: Buffer,
): Promise<Uuid<"wsv"> | null> {
  const [row] = await db.query<{ versionId: Uuid<"wsv"> }>(sql`
    SELECT version_id FROM sandbox_bases
    WHERE environment_id = ${environmentId} AND setup_digest = ${setupDigest}`);
  return row?.versionId ?? null;
}
