import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { GithubAccount } from "../github.ts";
import { findUser, type UserRow } from "../identity/user-reads.ts";
import { admitUser } from "../identity/admit-user.ts";
import { findLinkedUser } from "./identity-link-reads.ts";
import { insertIdentityLink } from "./identity-link-writes.ts";
import { startSession, type LoginContext, type StartedSession } from "../identity/start-session.ts";

/**
 * Signs in whoever GitHub says has come: the user that the account was linked to, else the one whose address GitHub has
 * verified, who is linked by that.
 *
 * @throws DomainError `forbidden` for someone who has no account here and was not invited
 */
export async function finishGithub(
  tx: Tx,
  account: GithubAccount,
  context: LoginContext,
): Promise<{ user: UserRow; session: StartedSession }> {
  const linked = await findLinkedUser(tx, "github", account.subject);
  const user = linked === null ? await linkByAddress(tx, account, context) : await findUser(tx, linked);
  if (user === null) {
    throw new DomainError(
      "forbidden",
      "There is no account here for the verified primary address of this GitHub account. Ask a member to invite it.",
    );
  }
  return { user, session: await startSession(tx, user.id, "github", context) };
}

async function linkByAddress(
  tx: Tx,
  { subject, email, name }: GithubAccount,
  context: LoginContext,
): Promise<UserRow | null> {
  const user = email === null ? null : await admitUser(tx, email, name, context);
  if (user !== null)
    await insertIdentityLink(tx, { provider: "github", subject, userId: user.id, now: context.now });
  return user;
}
