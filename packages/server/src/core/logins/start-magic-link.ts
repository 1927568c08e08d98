import { CREDENTIAL_KINDS, type StartMagicLink } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { isInvited } from "../identity/invitation-reads.ts";
import { findUserByEmail } from "../identity/user-reads.ts";
import { MAGIC_LINK_MS, MAX_OPEN_LINKS } from "./login.ts";
import { countOpenLinks } from "./magic-link-reads.ts";
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
  { makeCredential, now }: { makeCredential: MakeCredential; now: number },
): Promise<StartedLink> {
  const user = await findUserByEmail(tx, email);
  const invited = await isInvited(tx, email, now);
  const open = await countOpenLinks(tx, email, now);
  const { text: token, digest } = makeCredential(CREDENTIAL_KINDS.magicLink);
  const expiresAt = now + MAGIC_LINK_MS;
  await insertMagicLink(tx, {
    digest,
    nonceDigest: credentialDigest(nonce),
    email,
    returnTo: returnTo ?? null,
    expiresAt,
    now,
  });
  const known = user?.email ?? (invited ? email : null);
  return { token, expiresAt, to: open < MAX_OPEN_LINKS ? known : null };
}
