import type { Role } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type MemberRow = {
  userId: string;
  organizationId: string;
  email: string;
  name: string | null;
  role: Role;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(
  `m.user_id AS "userId", m.organization_id AS "organizationId", u.email, u.name, m.role,
   m.created_at AS "createdAt", m.updated_at AS "updatedAt"`,
);

/** The newest users first, after `before`. */
export function listMembers(
  db: Queryable,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<MemberRow[]> {
  return db.query<MemberRow>(sql`
    SELECT ${COLUMNS} FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND (${before}::uuid IS NULL OR m.user_id < ${before}::uuid)
    ORDER BY m.user_id DESC LIMIT ${limit}`);
}

export async function findMember(
  db: Queryable,
  organizationId: string,
  userId: string,
): Promise<MemberRow | null> {
  const [row] = await db.query<MemberRow>(sql`
    SELECT ${COLUMNS} FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND m.user_id = ${userId}`);
  return row ?? null;
}

export async function isMemberAddress(
  db: Queryable,
  organizationId: string,
  email: string,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 FROM users u JOIN members m ON m.user_id = u.id AND m.organization_id = ${organizationId}
    WHERE lower(u.email) = lower(${email})`);
  return rows.length > 0;
}

export async function countOwners(db: Queryable, organizationId: string): Promise<number> {
  const [row] = await db.query<{ owners: number }>(sql`
    SELECT count(*) AS owners FROM members WHERE organization_id = ${organizationId} AND role = 'owner'`);
  return row?.owners ?? 0;
}
