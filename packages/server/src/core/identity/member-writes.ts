import type { Role, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** A member who is one already keeps their role. */
export async function insertMember(
  tx: Tx,
  member: { organizationId: Uuid<"org">; userId: Uuid<"user">; role: Role; now: number },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO members (organization_id, user_id, role, created_at, updated_at)
    SELECT ${member.organizationId}::uuid, ${member.userId}::uuid, ${member.role}::text, at, at
    FROM ${timestamp(member.now)} AS at
    ON CONFLICT (organization_id, user_id) DO NOTHING`);
}

export async function updateMemberRole(
  tx: Tx,
  organizationId: Uuid<"org">,
  userId: Uuid<"user">,
  role: Role,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE members SET role = ${role}, updated_at = ${timestamp(now)}
    WHERE organization_id = ${organizationId} AND user_id = ${userId}`);
}

export async function deleteMember(tx: Tx, organizationId: Uuid<"org">, userId: Uuid<"user">): Promise<void> {
  await tx.query(sql`DELETE FROM members WHERE organization_id = ${organizationId} AND user_id = ${userId}`);
}

/** The clients that the member connected to environments of the organization. @returns the grants that were not revoked before */
export async function markMemberGrantsRevoked(
  tx: Tx,
  organizationId: Uuid<"org">,
  userId: Uuid<"user">,
  now: number,
): Promise<Uuid<"ogr">[]> {
  const rows = await tx.query<{ id: Uuid<"ogr"> }>(sql`
    UPDATE oauth_grants g SET revoked_at = ${timestamp(now)}
    FROM environments v JOIN projects p ON p.id = v.project_id
    WHERE p.organization_id = ${organizationId} AND v.id = g.environment_id AND g.user_id = ${userId}
      AND g.revoked_at IS NULL
    RETURNING g.id`);
  return rows.map(({ id }) => id);
}
