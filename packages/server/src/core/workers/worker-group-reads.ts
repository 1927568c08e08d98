import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type WorkerGroupRow = { id: string; name: string; createdAt: number };

const GROUP = rawSql(`id, name, created_at AS "createdAt"`);

/** Newest first, after `before`. */
export function listWorkerGroups(
  db: Queryable,
  before: string | null,
  limit: number,
): Promise<WorkerGroupRow[]> {
  return db.query<WorkerGroupRow>(sql`
    SELECT ${GROUP} FROM worker_groups WHERE ${before}::uuid IS NULL OR id < ${before}::uuid ORDER BY id DESC LIMIT ${limit}`);
}

export async function findWorkerGroup(db: Queryable, groupId: string): Promise<WorkerGroupRow | null> {
  const [row] = await db.query<WorkerGroupRow>(sql`SELECT ${GROUP} FROM worker_groups WHERE id = ${groupId}`);
  return row ?? null;
}

export type EnrollmentTokenRow = {
  id: string;
  workerGroupId: string;
  name: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
};

const TOKEN = rawSql(
  `id, worker_group_id AS "workerGroupId", name, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"`,
);

/** Those that are not revoked, newest first, after `before`. */
export function listEnrollmentTokens(
  db: Queryable,
  before: string | null,
  limit: number,
): Promise<EnrollmentTokenRow[]> {
  return db.query<EnrollmentTokenRow>(sql`
    SELECT ${TOKEN} FROM enrollment_tokens
    WHERE revoked_at IS NULL AND (${before}::uuid IS NULL OR id < ${before}::uuid) ORDER BY id DESC LIMIT ${limit}`);
}

export async function findEnrollmentToken(
  db: Queryable,
  tokenId: string,
): Promise<EnrollmentTokenRow | null> {
  const [row] = await db.query<EnrollmentTokenRow>(
    sql`SELECT ${TOKEN} FROM enrollment_tokens WHERE id = ${tokenId}`,
  );
  return row ?? null;
}
