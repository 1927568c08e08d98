import type { Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

/** What administrators see of organizations and users: all there are. */

export type AdminOrganizationRow = {
  id: Uuid<"org">;
  name: string;
  slug: string;
  workerGroupId: Uuid<"wgrp"> | null;
  members: number;
  projects: number;
  createdAt: number;
  updatedAt: number;
};

const ORGANIZATION = rawSql(
  `o.id, o.name, o.slug, o.worker_group_id,
   (SELECT count(*) FROM members m WHERE m.organization_id = o.id) AS members,
   (SELECT count(*) FROM projects p WHERE p.organization_id = o.id) AS projects,
   o.created_at, o.updated_at`,
);

/** Newest first, after `before`. */
export function listAllOrganizations(
  db: Queryable,
  before: string | null,
  limit: number,
): Promise<AdminOrganizationRow[]> {
  return db.query<AdminOrganizationRow>(sql`
    SELECT ${ORGANIZATION} FROM organizations o WHERE ${isBefore(sql`o.id`, before)}
    ORDER BY o.id DESC LIMIT ${limit}`);
}

export async function findOrganization(
  db: Queryable,
  organizationId: Uuid<"org">,
): Promise<AdminOrganizationRow | null> {
  const [row] = await db.query<AdminOrganizationRow>(
    sql`SELECT ${ORGANIZATION} FROM organizations o WHERE o.id = ${organizationId}`,
  );
  return row ?? null;
}

export type AdminUserRow = {
  id: Uuid<"user">;
  email: string;
  name: string | null;
  isAdmin: boolean;
  suspendedAt: number | null;
  organizations: number;
  createdAt: number;
  updatedAt: number;
};

const USER = rawSql(
  `u.id, u.email, u.name, u.is_admin, u.suspended_at,
   (SELECT count(*) FROM members m WHERE m.user_id = u.id) AS organizations,
   u.created_at, u.updated_at`,
);

/** Newest first, after `before`; of one address alone, or of all. */
export function listAllUsers(
  db: Queryable,
  email: string | null,
  before: string | null,
  limit: number,
): Promise<AdminUserRow[]> {
  return db.query<AdminUserRow>(sql`
    SELECT ${USER} FROM users u
    WHERE ${isBefore(sql`u.id`, before)} AND (${email}::text IS NULL OR lower(u.email) = lower(${email}::text))
    ORDER BY u.id DESC LIMIT ${limit}`);
}

export async function findAdminUser(db: Queryable, userId: Uuid<"user">): Promise<AdminUserRow | null> {
  const [row] = await db.query<AdminUserRow>(sql`SELECT ${USER} FROM users u WHERE u.id = ${userId}`);
  return row ?? null;
}

/** Changes of a user follow each other. False when there is no such user. */
export async function lockUser(tx: Tx, userId: Uuid<"user">): Promise<boolean> {
  const rows = await tx.query(sql`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`);
  return rows.length > 0;
}
