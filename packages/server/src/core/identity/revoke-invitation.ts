import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { decideRevoke, type Actor } from "./identity.ts";
import { lockInvitation } from "./invitation-reads.ts";
import { markInvitationRevoked } from "./invitation-writes.ts";

/**
 * Takes an invitation back. Revoking it again changes nothing.
 *
 * @returns whether this call revoked it
 * @throws DomainError `not_found`, `invalid_state` when it was accepted
 */
export async function revokeInvitation(
  tx: Tx,
  _actor: Actor,
  { organizationId, invitationId }: { organizationId: Uuid<"org">; invitationId: Uuid<"inv"> },
  now: number,
): Promise<boolean> {
  const invitation = await lockInvitation(tx, organizationId, invitationId);
  if (invitation === null) throw notFound();
  const decision = decideRevoke(invitation.status);
  if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message);
  if (decision.kind === "none") return false;
  await markInvitationRevoked(tx, invitationId, now);
  return true;
}
