import { CREDENTIAL_KINDS, type CreateInvitation, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { requireChanger, throwRefusal } from "./change-member.ts";
import { decideInvite, INVITATION_MS, type Actor } from "./identity.ts";
import { findInvitation, type InvitationRow } from "./invitation-reads.ts";
import { insertInvitation, markAddressRevoked } from "./invitation-writes.ts";
import { isMemberAddress } from "./member-reads.ts";
import { findUserOrganization, lockOrganization, type OrganizationRow } from "./tenancy-reads.ts";

export type NewInvitation = { token: string; invitation: InvitationRow; organization: OrganizationRow };

/**
 * Invites the owner of an address. An open invitation of the address is replaced. The token goes to that address alone: it
 * shows that the address is theirs, so not even whoever invites gets to see it.
 *
 * @throws DomainError `already_exists` for a member's address, `forbidden` when only an owner may
 */
export async function createInvitation(
  tx: Tx,
  actor: Actor,
  organizationId: Uuid<"org">,
  { email, role }: CreateInvitation,
  context: { newUuid: NewUuid; makeCredential: MakeCredential; now: number },
): Promise<NewInvitation> {
  const { newUuid, makeCredential, now } = context;
  await lockOrganization(tx, organizationId);
  throwRefusal(decideInvite(await requireChanger(tx, organizationId, actor), role));
  if (await isMemberAddress(tx, organizationId, email)) {
    throw new DomainError("already_exists", `${email} is a member. Change the member's role instead.`, {
      email,
    });
  }
  await markAddressRevoked(tx, organizationId, email, now);
  const { text, digest } = makeCredential(CREDENTIAL_KINDS.invitation);
  const id = newUuid<"inv">();
  await insertInvitation(tx, {
    id,
    digest,
    organizationId,
    email,
    role,
    invitedBy: actor.userId,
    expiresAt: now + INVITATION_MS,
    now,
  });
  const invitation = await findInvitation(tx, organizationId, id);
  const organization = await findUserOrganization(tx, actor.userId, organizationId);
  if (invitation === null || organization === null)
    throw new Error("An invitation vanished while it was made.");
  return { token: text, invitation, organization };
}
