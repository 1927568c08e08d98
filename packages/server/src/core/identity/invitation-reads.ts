import type { Role, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { StoredInvitationStatus } from "./identity.ts";

export type InvitationRow = {
  id: Uuid<"inv">;
  organizationId: Uuid<"org">;
  email: string;
  role: Role;
  status: StoredInvitationStatus;
  invitedBy: string | null;
  createdAt: number;
  expiresAt: number;
  acceptedAt: number | null;
};

const COLUMNS = rawSql(
  `id, organization_id, email, role, status, invited_by, created_at,
   expires_at, accepted_at`,
);

/** Newest first, after `before`. */
export function listInvitations(
  db: Queryable,
  organizationId: Uuid<"org">,
  before: string | null,
  limit: number,
): Promise<InvitationRow[]> {
  return db.query<InvitationRow>(sql`
    SELECT ${COLUMNS} FROM invitations
    WHERE organization_id = ${organizationId} AND ${isBefore(sql`id`, before)}
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findInvitation(
  db: Queryable,
  organizationId: Uuid<"org">,
  invitationId: Uuid<"inv">,
): Promise<InvitationRow | null> {
  const [row] = await db.query<InvitationRow>(sql`
    SELECT ${COLUMNS} FROM invitations WHERE organization_id = ${organizationId} AND id = ${invitationId}`);
  return row ?? null;
}

/** Whoever accepts or revokes it meanwhile waits. */
export async function lockInvitation(
  tx: Tx,
  organizationId: Uuid<"org">,
  invitationId: Uuid<"inv">,
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
    WHERE lower(email) = lower(${email}) AND status = 'open' AND expires_at > ${timestamp(now)} LIMIT 1`);
  return rows.length > 0;
}
