import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

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
      to_timestamp(${link.now}::float8 / 1000), to_timestamp(${link.expiresAt}::float8 / 1000))`);
}

export async function markLinkUsed(tx: Tx, digest: Buffer, now: number): Promise<void> {
  await tx.query(
    sql`UPDATE magic_links SET used_at = to_timestamp(${now}::float8 / 1000) WHERE digest = ${digest}`,
  );
}
