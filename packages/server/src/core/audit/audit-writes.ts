import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { AuditRow } from "./audit.ts";

/**
 * Takes the next place of a chain and gives the digest of the event before it, null for the first. The row stays locked to the
 * end of the transaction, so that the events of a chain are in the order of their commits. It is the last lock that is taken.
 */
export async function takePlace(
  tx: Tx,
  chainId: string,
): Promise<{ sequence: number; previousDigest: string | null }> {
  const [row] = await tx.query<{ sequence: number; previousDigest: string | null }>(sql`
    INSERT INTO audit_chains AS c (chain_id, sequence, digest) VALUES (${chainId}, 1, ${Buffer.alloc(32)})
    ON CONFLICT (chain_id) DO UPDATE SET sequence = c.sequence + 1
    RETURNING sequence, CASE WHEN sequence > 1 THEN encode(digest, 'hex') END AS previous_digest`);
  if (row === undefined) throw new Error("An audit chain gave no place.");
  return row;
}

/** Adds the event to the chain whose place was taken, as its newest. */
export async function insertAuditEvent(tx: Tx, chainId: string, row: AuditRow): Promise<void> {
  const digest = Buffer.from(row.digest, "hex");
  await tx.query(sql`
    WITH head AS (UPDATE audit_chains SET digest = ${digest} WHERE chain_id = ${chainId})
    INSERT INTO audit_events (chain_id, sequence, id, action, actor_id, resource_id, content, digest)
    VALUES (${chainId}, ${row.sequence}, ${row.id}, ${row.action}, ${row.actorId}, ${row.resourceId}, ${row.content}, ${digest})`);
}
