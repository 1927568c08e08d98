import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type MagicLinkRow = {
  nonceDigest: Buffer;
  email: string;
  returnTo: string | null;
  expiresAt: number;
  usedAt: number | null;
};

/** By its token. Of two who open it at once, the second waits and finds it used. */
export async function lockMagicLink(tx: Tx, digest: Buffer): Promise<MagicLinkRow | null> {
  const [row] = await tx.query<MagicLinkRow>(sql`
    SELECT nonce_digest, email, return_to, expires_at, used_at
    FROM magic_links WHERE digest = ${digest} FOR UPDATE`);
  return row ?? null;
}
