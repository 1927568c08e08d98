import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { UserRow } from "../identity/user-reads.ts";
import { admitUser } from "../identity/admit-user.ts";
import { lockMagicLink } from "./magic-link-reads.ts";
import { markLinkUsed } from "./magic-link-writes.ts";
import { startSession, type LoginContext, type StartedSession } from "../identity/start-session.ts";

export type FinishedLink = { user: UserRow; session: StartedSession; returnTo: string | null };

/**
 * Signs in by a link, once, in the browser that asked for it. Opened elsewhere it stays as good as it was: a mail scanner
 * that follows links spoils none.
 *
 * @throws DomainError `unauthenticated`
 */
export async function finishMagicLink(
  tx: Tx,
  { token, nonce }: { token: string; nonce: string | null },
  context: LoginContext,
): Promise<FinishedLink> {
  const digest = credentialDigest(token);
  const link = await lockMagicLink(tx, digest);
  if (link === null || link.usedAt !== null || link.expiresAt <= context.now) {
    throw new DomainError(
      "unauthenticated",
      "The link is unknown, was used, or is older than 15 minutes. Ask for a new one.",
    );
  }
  if (nonce === null || !credentialDigest(nonce).equals(link.nonceDigest)) {
    throw new DomainError(
      "unauthenticated",
      "Open the link in the browser in which you asked for it, or ask for a new one here.",
    );
  }
  await markLinkUsed(tx, digest, context.now);
  const user = await admitUser(tx, link.email, null, context);
  if (user === null) {
    throw new DomainError(
      "unauthenticated",
      "The address no longer has an account. Ask for a new invitation.",
    );
  }
  return { user, session: await startSession(tx, user.id, "magic_link", context), returnTo: link.returnTo };
}
