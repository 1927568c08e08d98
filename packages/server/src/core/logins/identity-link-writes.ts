import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** Two first sign-ins at once link the same user: the second changes nothing. */
export async function insertIdentityLink(
  tx: Tx,
  link: { provider: "github"; subject: string; userId: Uuid<"user">; now: number },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO user_identities (provider, subject, user_id, created_at)
    VALUES (${link.provider}, ${link.subject}, ${link.userId}, ${timestamp(link.now)})
    ON CONFLICT (provider, subject) DO NOTHING`);
}
