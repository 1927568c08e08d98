import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

/** What administrators see of organizations and users: all there are. */

export type AdminOrganizationRow = {
  id: string;
  name: string;
  slug: string;
  workerGroupId: string | null;
  members: number;
  projects: number;
  createdAt: number;
  updatedAt: number;
};

const ORGANIZATION = rawSql(
  `o.id, o.name, o.slug, o.worker_group_id AS "workerGroupId",
   (SELECT count(*) FROM members m WHERE m.organization_id = o.id) AS members,
   (SELECT count(*) FROM projects p WHERE p.organization_id = o.id) AS projects,
   o.created_at AS "createdAt", o.updated_at AS "updatedAt"`,
);

/** Newest first, after `before`. */
export function listAllOrganizations(
  db: Queryable,
  before: string | null,
  limit: number,
): Promise<AdminOrganizationRow[]> {
  return db.query<AdminOrganizationRow>(sql`
    SELECT ${ORGANIZATION} FROM organizations o WHERE ${before}::uuid IS NULL OR o.id < ${before}::uuid
    ORDER BY o.id DESC LIMIT ${limit}`);
}

export async function findOrganization(
  db: Queryable,
  organizationId: string,
): Promise<AdminOrganizationRow | null> {
  const [row] = await db.query<AdminOrganizationRow>(
    sql`SELECT ${ORGANIZATION} FROM organizations o WHERE o.id = ${organizationId}`,
  );
  return row ?? null;
}

export type AdminUserRow = {
  id: string;
  email: string;
  name: string | null;
  isAdmin: boolean;
  suspendedAt: number | null;
  organizations: number;
  createdAt: number;
  updatedAt: number;
};

const USER = rawSql(
  `u.id, u.email, u.name, u.is_admin AS "isAdmin", u.suspended_at AS "suspendedAt",
   (SELECT count(*) FROM members m WHERE m.user_id = u.id) AS organizations,
   u.created_at AS "createdAt", u.updated_at AS "updatedAt"`,
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
    WHERE (${before}::uuid IS NULL OR u.id < ${before}::uuid) AND (${email}::text IS NULL OR lower(u.email) = lower(${email}::text))
    ORDER BY u.id DESC LIMIT ${limit}`);
}

export async function findAdminUser(db: Queryable, userId: string): Promise<AdminUserRow | null> {
  const [row] = await db.query<AdminUserRow>(sql`SELECT ${USER} FROM users u WHERE u.id = ${userId}`);
  return row ?? null;
}

/** Changes of a user follow each other. False when there is no such user. */
export async function lockUser(tx: Tx, userId: string): Promise<boolean> {
  const rows = await tx.query(sql`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`);
  return rows.length > 0;
}
