import type { Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type WorkerGroupRow = { id: Uuid<"wgrp">; name: string; createdAt: number };

const GROUP = rawSql(`id, name, created_at`);

/** Newest first, after `before`. */
export function listWorkerGroups(
  db: Queryable,
  before: string | null,
  limit: number,
): Promise<WorkerGroupRow[]> {
  return db.query<WorkerGroupRow>(sql`
    SELECT ${GROUP} FROM worker_groups WHERE ${isBefore(sql`id`, before)} ORDER BY id DESC LIMIT ${limit}`);
}

export async function findWorkerGroup(db: Queryable, groupId: Uuid<"wgrp">): Promise<WorkerGroupRow | null> {
  const [row] = await db.query<WorkerGroupRow>(sql`SELECT ${GROUP} FROM worker_groups WHERE id = ${groupId}`);
  return row ?? null;
}

export type EnrollmentTokenRow = {
  id: Uuid<"enr">;
  workerGroupId: Uuid<"wgrp">;
  name: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
};

const TOKEN = rawSql(`id, worker_group_id, name, created_at, expires_at, revoked_at`);

/** Those that are not revoked, newest first, after `before`. */
export function listEnrollmentTokens(
  db: Queryable,
  before: string | null,
  limit: number,
): Promise<EnrollmentTokenRow[]> {
  return db.query<EnrollmentTokenRow>(sql`
    SELECT ${TOKEN} FROM enrollment_tokens
    WHERE revoked_at IS NULL AND ${isBefore(sql`id`, before)} ORDER BY id DESC LIMIT ${limit}`);
}

export async function findEnrollmentToken(
  db: Queryable,
  tokenId: Uuid<"enr">,
): Promise<EnrollmentTokenRow | null> {
  const [row] = await db.query<EnrollmentTokenRow>(
    sql`SELECT ${TOKEN} FROM enrollment_tokens WHERE id = ${tokenId}`,
  );
  return row ?? null;
}
