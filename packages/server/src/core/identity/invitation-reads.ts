import type { Role } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { StoredInvitationStatus } from "./identity.ts";

export type InvitationRow = {
  id: string;
  organizationId: string;
  email: string;
  role: Role;
  status: StoredInvitationStatus;
  invitedBy: string | null;
  createdAt: number;
  expiresAt: number;
  acceptedAt: number | null;
};

const COLUMNS = rawSql(
  `id, organization_id AS "organizationId", email, role, status, invited_by AS "invitedBy", created_at AS "createdAt",
   expires_at AS "expiresAt", accepted_at AS "acceptedAt"`,
);

/** Newest first, after `before`. */
export function listInvitations(
  db: Queryable,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<InvitationRow[]> {
  return db.query<InvitationRow>(sql`
    SELECT ${COLUMNS} FROM invitations
    WHERE organization_id = ${organizationId} AND (${before}::uuid IS NULL OR id < ${before}::uuid)
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findInvitation(
  db: Queryable,
  organizationId: string,
  invitationId: string,
): Promise<InvitationRow | null> {
  const [row] = await db.query<InvitationRow>(sql`
    SELECT ${COLUMNS} FROM invitations WHERE organization_id = ${organizationId} AND id = ${invitationId}`);
  return row ?? null;
}

/** Whoever accepts or revokes it meanwhile waits. */
export async function lockInvitation(
  tx: Tx,
  organizationId: string,
  invitationId: string,
): Promise<InvitationRow | null> {
  const [row] = await tx.query<InvitationRow>(sql`
    SELECT ${COLUMNS} FROM invitations WHERE organization_id = ${organizationId} AND id = ${invitationId} FOR UPDATE`);
  return row ?? null;
}

/** By its token, for whoever holds it. Of two who accept at once, the second waits and finds it accepted. */
export async function lockInvitationByToken(tx: Tx, digest: Buffer): Promise<InvitationRow | null> {
  const [row] = await tx.query<InvitationRow>(
    sql`SELECT ${COLUMNS} FROM invitations WHERE digest = ${digest} FOR UPDATE`,
  );
  return row ?? null;
}

/** Whether someone asks the owner of the address in. */
export async function isInvited(db: Queryable, email: string, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 FROM invitations
    WHERE lower(email) = lower(${email}) AND status = 'open' AND expires_at > to_timestamp(${now}::float8 / 1000) LIMIT 1`);
  return rows.length > 0;
}
