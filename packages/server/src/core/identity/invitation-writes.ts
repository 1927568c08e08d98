import type { Role } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type NewInvitation = {
  id: string;
  digest: Buffer;
  organizationId: string;
  email: string;
  role: Role;
  invitedBy: string;
  expiresAt: number;
  now: number;
};

export async function insertInvitation(tx: Tx, invitation: NewInvitation): Promise<void> {
  await tx.query(sql`
    INSERT INTO invitations (digest, id, organization_id, email, role, invited_by, expires_at, created_at, updated_at)
    SELECT ${invitation.digest}::bytea, ${invitation.id}::uuid, ${invitation.organizationId}::uuid, ${invitation.email}::text,
      ${invitation.role}::text, ${invitation.invitedBy}::uuid, to_timestamp(${invitation.expiresAt}::float8 / 1000), at, at
    FROM to_timestamp(${invitation.now}::float8 / 1000) AS at`);
}

/** Revokes the open invitation of an address, if there is one. */
export async function markAddressRevoked(
  tx: Tx,
  organizationId: string,
  email: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE invitations SET status = 'revoked', updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE organization_id = ${organizationId} AND lower(email) = lower(${email}) AND status = 'open'`);
}

export async function markInvitationRevoked(tx: Tx, invitationId: string, now: number): Promise<void> {
  await tx.query(sql`
    UPDATE invitations SET status = 'revoked', updated_at = to_timestamp(${now}::float8 / 1000) WHERE id = ${invitationId}`);
}

export async function markInvitationAccepted(
  tx: Tx,
  invitationId: string,
  userId: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE invitations SET status = 'accepted', accepted_by = ${userId}, accepted_at = at, updated_at = at
    FROM to_timestamp(${now}::float8 / 1000) AS at
    WHERE id = ${invitationId}`);
}
