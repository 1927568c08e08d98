import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewMagicLink = {
  digest: Buffer;
  nonceDigest: Buffer;
  email: string;
  returnTo: string | null;
  expiresAt: number;
  now: number;
};

export async function insertMagicLink(tx: Tx, link: NewMagicLink): Promise<void> {
  await tx.query(sql`
    INSERT INTO magic_links (digest, nonce_digest, email, return_to, created_at, expires_at)
    VALUES (${link.digest}, ${link.nonceDigest}, ${link.email}, ${link.returnTo},
      ${timestamp(link.now)}, ${timestamp(link.expiresAt)})`);
}

export async function markLinkUsed(tx: Tx, digest: Buffer, now: number): Promise<void> {
  await tx.query(sql`UPDATE magic_links SET used_at = ${timestamp(now)} WHERE digest = ${digest}`);
}
