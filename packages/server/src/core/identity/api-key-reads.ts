import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type ApiKeyRow = {
  id: string;
  projectId: string;
  environmentId: string;
  name: string;
  permissions: string[];
  createdBy: string | null;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
};

const COLUMNS = rawSql(
  `k.id, v.project_id AS "projectId", k.environment_id AS "environmentId", k.name, k.permissions, k.created_by AS "createdBy",
   k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.last_used_at AS "lastUsedAt", k.revoked_at AS "revokedAt"`,
);

/** Those that are not revoked, newest first, after `before`. */
export function listApiKeys(
  db: Queryable,
  environmentId: string,
  before: string | null,
  limit: number,
): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(sql`
    SELECT ${COLUMNS} FROM api_keys k JOIN environments v ON v.id = k.environment_id
    WHERE k.environment_id = ${environmentId} AND k.revoked_at IS NULL AND (${before}::uuid IS NULL OR k.id < ${before}::uuid)
    ORDER BY k.id DESC LIMIT ${limit}`);
}

export async function findApiKeyRow(
  db: Queryable,
  environmentId: string,
  keyId: string,
): Promise<ApiKeyRow | null> {
  const [row] = await db.query<ApiKeyRow>(sql`
    SELECT ${COLUMNS} FROM api_keys k JOIN environments v ON v.id = k.environment_id
    WHERE k.environment_id = ${environmentId} AND k.id = ${keyId}`);
  return row ?? null;
}
