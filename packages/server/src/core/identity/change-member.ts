import type { Role, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { notifyRevoked } from "../credentials/credential-cache.ts";
import { decideMemberChange, type Actor, type MemberDecision } from "./identity.ts";
import { countOwners, findMember, type MemberRow } from "./member-reads.ts";
import { deleteMember, markMemberGrantsRevoked, updateMemberRole } from "./member-writes.ts";
import { lockOrganization } from "./tenancy-reads.ts";

export type MemberChange = {
  /** As they were left; as they were before, when they were removed. */
  member: MemberRow;
  /** The role they had. */
  from: Role;
  changed: boolean;
  /** The connected clients that a removal revoked. */
  revokedGrants: Uuid<"ogr">[];
};

/**
 * Gives a member another role, or removes them (`to` null). Under the organization's lock: of two owners who demote each
 * other at once, one finds themselves no owner any more. Their sessions stay; what they may do is asked with every request, and
 * of streams that they have open on any server as soon as it hears of the commit. The clients that they connected here go with
 * them, so that somebody who comes back connects them again.
 *
 * @throws DomainError `not_found`, `forbidden`, `invalid_state` for the last owner
 */
export async function changeMember(
  tx: Tx,
  actor: Actor,
  { organizationId, userId }: { organizationId: Uuid<"org">; userId: Uuid<"user"> },
  to: Role | null,
  now: number,
): Promise<MemberChange> {
  await lockOrganization(tx, organizationId);
  const actorRole = await requireChanger(tx, organizationId, actor);
  const member = await findMember(tx, organizationId, userId);
  if (member === null) throw notFound();
  const owners = await countOwners(tx, organizationId);
  const decision = decideMemberChange({ actorRole, role: member.role, to, owners });
  throwRefusal(decision);
  const from = member.role;
  if (decision.kind === "none") return { member, from, changed: false, revokedGrants: [] };
  await notifyRevoked(tx, { kind: "user", id: userId });
  if (to === null) {
    // First the member: whoever is making a grant for them holds that row until the grant can be seen.
    await deleteMember(tx, organizationId, userId);
    const revokedGrants = await markMemberGrantsRevoked(tx, organizationId, userId, now);
    return { member, from, changed: true, revokedGrants };
  }
  await updateMemberRole(tx, organizationId, userId, to, now);
  return { member: { ...member, role: to, updatedAt: now }, from, changed: true, revokedGrants: [] };
}

/** The actor's role as it is under the lock: what the request was let in with may have changed since. */
export async function requireChanger(tx: Tx, organizationId: Uuid<"org">, actor: Actor): Promise<Role> {
  const member = await findMember(tx, organizationId, actor.userId);
  if (member === null) throw notFound();
  if (member.role === "owner" || member.role === "admin") return member.role;
  throw new DomainError("forbidden", "This credential lacks the permission members.write.", {
    permission: "members.write",
  });
}

export function throwRefusal(decision: MemberDecision): void {
  if (decision.kind !== "refuse") return;
  const details = decision.code === "forbidden" ? { permission: "members.write" } : null;
  throw new DomainError(decision.code, decision.message, details);
}
