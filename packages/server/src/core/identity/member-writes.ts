import type { Role } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** A member who is one already keeps their role. */
export async function insertMember(
  tx: Tx,
  member: { organizationId: string; userId: string; role: Role; now: number },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO members (organization_id, user_id, role, created_at, updated_at)
    SELECT ${member.organizationId}::uuid, ${member.userId}::uuid, ${member.role}::text, at, at
    FROM to_timestamp(${member.now}::float8 / 1000) AS at
    ON CONFLICT (organization_id, user_id) DO NOTHING`);
}

export async function updateMemberRole(
  tx: Tx,
  organizationId: string,
  userId: string,
  role: Role,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE members SET role = ${role}, updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE organization_id = ${organizationId} AND user_id = ${userId}`);
}

export async function deleteMember(tx: Tx, organizationId: string, userId: string): Promise<void> {
  await tx.query(sql`DELETE FROM members WHERE organization_id = ${organizationId} AND user_id = ${userId}`);
}
