import { encodeId, type AuditFault, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { contentDigest } from "./append-audit-event.ts";
import { chainOf, findFault, NO_DIGEST, type AuditPlace } from "./audit.ts";
import { findChainHead, listAuditEventsAfter } from "./audit-reads.ts";

export type ChainReport = {
  /** The newest event that is as it was written; null when there is none. */
  head: AuditPlace | null;
  /** The first place that is not as it should be. */
  fault: { sequence: number; kind: AuditFault; message: string } | null;
};

const PAGE = 500;

/**
 * Reads a chain from its beginning and compares all that can be: content with digest, each event with the one before, the
 * columns that it is found by with its content, and the end with the chain's row.
 *
 * @param tx sees one state of the database, so that what is added meanwhile is not taken for a fault
 */
export async function verifyChain(
  tx: Tx,
  organizationId: Uuid<"org"> | null,
  signal: AbortSignal,
): Promise<ChainReport> {
  const chainId = chainOf(organizationId);
  const organization = organizationId === null ? null : encodeId("org", organizationId);
  const stored = await findChainHead(tx, chainId);
  let last: AuditPlace = { sequence: 0, digest: NO_DIGEST };
  const reached = (): AuditPlace | null => (last.sequence === 0 ? null : last);
  for (;;) {
    if (signal.aborted) throw new DomainError("unavailable", "The caller did not wait for the end.");
    const rows = await listAuditEventsAfter(tx, chainId, last.sequence, PAGE);
    for (const row of rows) {
      const ids = { event: encodeId("aud", row.id), organization };
      const fault = findFault(last, row, contentDigest(row.content), ids);
      if (fault !== null) return { head: reached(), fault: { sequence: last.sequence + 1, ...fault } };
      last = { sequence: row.sequence, digest: row.digest };
    }
    if (rows.length < PAGE) break;
  }
  const isEnd = (stored?.sequence ?? 0) === last.sequence && (stored?.digest ?? NO_DIGEST) === last.digest;
  const message = `The newest event should be ${stored?.sequence ?? "none"}, and is ${last.sequence || "none"}.`;
  return {
    head: reached(),
    fault: isEnd ? null : { sequence: last.sequence + 1, kind: "head", message },
  };
}
