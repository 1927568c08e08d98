import type { Role, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewInvitation = {
  id: Uuid<"inv">;
  digest: Buffer;
  organizationId: Uuid<"org">;
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
      ${invitation.role}::text, ${invitation.invitedBy}::uuid, ${timestamp(invitation.expiresAt)}, at, at
    FROM ${timestamp(invitation.now)} AS at`);
}

/** Revokes the open invitation of an address, if there is one. */
export async function markAddressRevoked(
  tx: Tx,
  organizationId: Uuid<"org">,
  email: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE invitations SET status = 'revoked', updated_at = ${timestamp(now)}
    WHERE organization_id = ${organizationId} AND lower(email) = lower(${email}) AND status = 'open'`);
}

export async function markInvitationRevoked(tx: Tx, invitationId: Uuid<"inv">, now: number): Promise<void> {
  await tx.query(sql`
    UPDATE invitations SET status = 'revoked', updated_at = ${timestamp(now)} WHERE id = ${invitationId}`);
}

export async function markInvitationAccepted(
  tx: Tx,
  invitationId: Uuid<"inv">,
  userId: Uuid<"user">,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE invitations SET status = 'accepted', accepted_by = ${userId}, accepted_at = at, updated_at = at
    FROM ${timestamp(now)} AS at
    WHERE id = ${invitationId}`);
}
