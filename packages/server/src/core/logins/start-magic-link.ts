import { CREDENTIAL_KINDS, type StartMagicLink } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { isInvited } from "../identity/invitation-reads.ts";
import { findUserByEmail } from "../identity/user-reads.ts";
import { takeLink, type LinkAsker } from "./link-budgets.ts";
import { MAGIC_LINK_MS } from "./login.ts";
import { insertMagicLink } from "./magic-link-writes.ts";

export type StartedLink = {
  token: string;
  expiresAt: number;
  /** Whom the link is sent to; null for an address of nobody, or one that has been sent enough. */
  to: string | null;
};

/**
 * Makes a link by which the owner of an address signs in. What is read and written is the same for every address: neither
 * the answer nor its time tells who has an account.
 *
 * @param nonce what the asking browser keeps
 */
export async function startMagicLink(
  tx: Tx,
  { email, return_to: returnTo }: StartMagicLink,
  nonce: string,
  asker: LinkAsker,
  { makeCredential, now }: { makeCredential: MakeCredential; now: number },
): Promise<StartedLink> {
  const user = await findUserByEmail(tx, email);
  const invited = await isInvited(tx, email, now);
  const isSent = await takeLink(tx, email, asker, now);
  const { text: token, digest } = makeCredential(CREDENTIAL_KINDS.magicLink);
  const expiresAt = now + MAGIC_LINK_MS;
  if (!isSent) return { token, expiresAt, to: null };
  await insertMagicLink(tx, {
    digest,
    nonceDigest: credentialDigest(nonce),
    email,
    returnTo: returnTo ?? null,
    expiresAt,
    now,
  });
  return { token, expiresAt, to: user?.email ?? (invited ? email : null) };
}
