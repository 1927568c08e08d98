import type { ErrorCode, InvitationStatus, Role, Uuid } from "@keelson/contract";

/**
 * People and what is theirs.
 *
 * An organization has members, each with one role, and at least one owner for ever. Only owners make and unmake owners; admins
 * do everything else. Someone comes in by an invitation to a mail address: whoever shows that the address is theirs accepts it
 * and is a member. An open invitation can be revoked; that it has run out is not stored but how it looks after a week.
 */
export type StoredInvitationStatus = Exclude<InvitationStatus, "expired">;

export const STORED_INVITATION_STATUSES = ["open", "accepted", "revoked"] as const;

export const INVITATION_EDGES = [
  { from: "open", on: "accept", to: "accepted" },
  { from: "open", on: "revoke", to: "revoked" },
] as const satisfies readonly { from: StoredInvitationStatus; on: string; to: StoredInvitationStatus }[];

export const INVITATION_MS = 7 * 86_400_000;

/** Who changes something, and by which session. */
export type Actor = { userId: Uuid<"user">; sessionId: Uuid<"usess"> };

type Refusal = { kind: "refuse"; code: ErrorCode; message: string };
export type MemberDecision = { kind: "none" } | { kind: "change" } | Refusal;
export type InvitationDecision =
  | { kind: "none" }
  | { kind: "move"; to: StoredInvitationStatus }
  | { kind: "refuse"; message: string };

const ONLY_OWNERS: Refusal = {
  kind: "refuse",
  code: "forbidden",
  message: "Only an owner of the organization can add, change or remove owners. Ask an owner.",
};

/** A member is given another role, or none (null): they leave. `owners` counts the organization's owners. */
export function decideMemberChange(change: {
  actorRole: Role;
  role: Role;
  to: Role | null;
  owners: number;
}): MemberDecision {
  const { actorRole, role, to, owners } = change;
  if (actorRole !== "owner" && (role === "owner" || to === "owner")) return ONLY_OWNERS;
  if (role === to) return { kind: "none" };
  if (role === "owner" && owners <= 1) {
    return {
      kind: "refuse",
      code: "invalid_state",
      message: "This is the organization's last owner. Make someone else an owner first.",
    };
  }
  return { kind: "change" };
}

/** Someone is invited to be a member with a role. */
export const decideInvite = (actorRole: Role, role: Role): MemberDecision =>
  role === "owner" && actorRole !== "owner" ? ONLY_OWNERS : { kind: "change" };

export function decideAccept(status: StoredInvitationStatus, isExpired: boolean): InvitationDecision {
  switch (status) {
    case "open":
      return isExpired
        ? { kind: "refuse", message: "The invitation has expired; ask to be invited again." }
        : { kind: "move", to: "accepted" };
    case "accepted":
      return { kind: "refuse", message: "The invitation has been accepted; sign in instead." };
    case "revoked":
      return { kind: "refuse", message: "The invitation was revoked; ask to be invited again." };
  }
}

export function decideRevoke(status: StoredInvitationStatus): InvitationDecision {
  switch (status) {
    case "open":
      return { kind: "move", to: "revoked" };
    case "accepted":
      return { kind: "refuse", message: "The invitation has been accepted; remove the member instead." };
    case "revoked":
      return { kind: "none" };
  }
}

/** How the invitation looks now. */
export const invitationStatus = (
  invitation: { status: StoredInvitationStatus; expiresAt: number },
  now: number,
): InvitationStatus =>
  invitation.status === "open" && invitation.expiresAt <= now ? "expired" : invitation.status;

const MAX_SLUG = 64;

/** A slug made from a name; null when nothing of it can stand in one. */
export function slugOf(name: string): string | null {
  const words = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .match(/[a-z0-9]+/g);
  const slug = (words ?? []).join("-").slice(0, MAX_SLUG).replace(/-$/, "");
  return slug === "" ? null : slug;
}
