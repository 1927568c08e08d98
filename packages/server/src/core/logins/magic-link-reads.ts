import type { Queryable, Tx } from "../../db/queryable.ts";
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
    SELECT nonce_digest AS "nonceDigest", email, return_to AS "returnTo", expires_at AS "expiresAt", used_at AS "usedAt"
    FROM magic_links WHERE digest = ${digest} FOR UPDATE`);
  return row ?? null;
}

/** Links of the address that could still be opened. */
export async function countOpenLinks(db: Queryable, email: string, now: number): Promise<number> {
  const [row] = await db.query<{ links: number }>(sql`
    SELECT count(*) AS links FROM magic_links
    WHERE lower(email) = lower(${email}) AND expires_at > to_timestamp(${now}::float8 / 1000)`);
  return row?.links ?? 0;
}
