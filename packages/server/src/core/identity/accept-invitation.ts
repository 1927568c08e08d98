import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { startSession, type LoginContext, type StartedSession } from "./start-session.ts";
import { decideAccept, type Actor } from "./identity.ts";
import { lockInvitationByToken, type InvitationRow } from "./invitation-reads.ts";
import { markInvitationAccepted } from "./invitation-writes.ts";
import { insertMember } from "./member-writes.ts";
import { findUserOrganization, type OrganizationRow } from "./tenancy-reads.ts";
import { findUser, findUserByEmail, type UserRow } from "./user-reads.ts";
import { insertUser } from "./user-writes.ts";

export type AcceptedInvitation = {
  invitationId: Uuid<"inv">;
  organization: OrganizationRow;
  user: UserRow;
  /** Of someone new; null for a caller who was signed in. */
  session: StartedSession | null;
};

/**
 * Makes whoever holds the invitation's token a member. The token was sent to the address alone, so it is enough to sign in
 * someone new. An account that is there already is not opened by it: a link that lies in a mailbox for a week must not be a
 * key to all that the account may do, so its owner signs in as ever.
 *
 * @throws DomainError `not_found` for an unknown token, `invalid_state` for one that is no longer open, `unauthenticated` when
 * the address has an account, `forbidden` when the caller's is another
 */
export async function acceptInvitation(
  tx: Tx,
  actor: Actor | null,
  token: string,
  context: LoginContext,
): Promise<AcceptedInvitation> {
  const { now } = context;
  // Only this row: nothing of the organization is looked at that a rule depends on.
  const invitation = await lockInvitationByToken(tx, credentialDigest(token));
  if (invitation === null) throw notFound();
  const decision = decideAccept(invitation.status, invitation.expiresAt <= now);
  if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message);
  const known = await findUserByEmail(tx, invitation.email);
  const userId = actor === null ? await addUser(tx, invitation, known, context) : known?.id;
  if (userId === undefined || (actor !== null && userId !== actor.userId)) {
    throw new DomainError(
      "forbidden",
      `The invitation is for ${invitation.email}. Sign out, and sign in with that address.`,
    );
  }
  const { organizationId, role } = invitation;
  await insertMember(tx, { organizationId, userId, role, now });
  await markInvitationAccepted(tx, invitation.id, userId, now);
  const session = actor === null ? await startSession(tx, userId, "invitation", context) : null;
  const organization = await findUserOrganization(tx, userId, organizationId);
  const user = await findUser(tx, userId);
  if (organization === null || user === null) throw new Error("A member vanished while they were made.");
  return { invitationId: invitation.id, organization, user, session };
}

async function addUser(
  tx: Tx,
  { email }: InvitationRow,
  known: UserRow | null,
  { newUuid, now }: LoginContext,
): Promise<Uuid<"user">> {
  const id = newUuid<"user">();
  if (known === null && (await insertUser(tx, { id, email, name: null, now }))) return id;
  throw new DomainError(
    "unauthenticated",
    `${email} has an account. Sign in to it, then accept the invitation.`,
  );
}
