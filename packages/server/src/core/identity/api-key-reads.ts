import type { Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type ApiKeyRow = {
  id: Uuid<"key">;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  name: string;
  permissions: string[];
  createdBy: string | null;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
};

const COLUMNS = rawSql(
  `k.id, v.project_id, k.environment_id, k.name, k.permissions, k.created_by,
   k.created_at, k.expires_at, k.last_used_at, k.revoked_at`,
);

/** Those that are not revoked, newest first, after `before`. */
export function listApiKeys(
  db: Queryable,
  environmentId: Uuid<"env">,
  before: string | null,
  limit: number,
): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(sql`
    SELECT ${COLUMNS} FROM api_keys k JOIN environments v ON v.id = k.environment_id
    WHERE k.environment_id = ${environmentId} AND k.revoked_at IS NULL AND ${isBefore(sql`k.id`, before)}
    ORDER BY k.id DESC LIMIT ${limit}`);
}

export async function findApiKeyRow(
  db: Queryable,
  environmentId: Uuid<"env">,
  keyId: Uuid<"key">,
): Promise<ApiKeyRow | null> {
  const [row] = await db.query<ApiKeyRow>(sql`
    SELECT ${COLUMNS} FROM api_keys k JOIN environments v ON v.id = k.environment_id
    WHERE k.environment_id = ${environmentId} AND k.id = ${keyId}`);
  return row ?? null;
}
