import type { Role, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type MemberRow = {
  userId: Uuid<"user">;
  organizationId: Uuid<"org">;
  email: string;
  name: string | null;
  role: Role;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(
  `m.user_id, m.organization_id, u.email, u.name, m.role,
   m.created_at, m.updated_at`,
);

/** The newest users first, after `before`. */
export function listMembers(
  db: Queryable,
  organizationId: Uuid<"org">,
  before: string | null,
  limit: number,
): Promise<MemberRow[]> {
  return db.query<MemberRow>(sql`
    SELECT ${COLUMNS} FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND ${isBefore(sql`m.user_id`, before)}
    ORDER BY m.user_id DESC LIMIT ${limit}`);
}

export async function findMember(
  db: Queryable,
  organizationId: Uuid<"org">,
  userId: Uuid<"user">,
): Promise<MemberRow | null> {
  const [row] = await db.query<MemberRow>(sql`
    SELECT ${COLUMNS} FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND m.user_id = ${userId}`);
  return row ?? null;
}

export async function isMemberAddress(
  db: Queryable,
  organizationId: Uuid<"org">,
  email: string,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 FROM users u JOIN members m ON m.user_id = u.id AND m.organization_id = ${organizationId}
    WHERE lower(u.email) = lower(${email})`);
  return rows.length > 0;
}

export async function countOwners(db: Queryable, organizationId: Uuid<"org">): Promise<number> {
  const [row] = await db.query<{ owners: number }>(sql`
    SELECT count(*) AS owners FROM members WHERE organization_id = ${organizationId} AND role = 'owner'`);
  return row?.owners ?? 0;
}
