import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** Two first sign-ins at once link the same user: the second changes nothing. */
export async function insertIdentityLink(
  tx: Tx,
  link: { provider: "github"; subject: string; userId: string; now: number },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO user_identities (provider, subject, user_id, created_at)
    VALUES (${link.provider}, ${link.subject}, ${link.userId}, to_timestamp(${link.now}::float8 / 1000))
    ON CONFLICT (provider, subject) DO NOTHING`);
}
