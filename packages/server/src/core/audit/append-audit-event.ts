import { createHash } from "node:crypto";
import { encodeId } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { canonicalJson } from "../idempotency/canonical-json.ts";
import { chainOf, NO_DIGEST, type AuditContent, type AuditFacts } from "./audit.ts";
import { insertAuditEvent, takePlace } from "./audit-writes.ts";

/** Of the bytes that were stored: whoever verifies need not write the event anew. */
export const contentDigest = (content: string): string => createHash("sha256").update(content).digest("hex");

/**
 * Adds an event to its organization's chain, as the last thing that the transaction of its effect does: the chain's row is
 * locked to the end. So no hot path is audited: what starts, leases and appends would queue there.
 */
export async function appendAuditEvent(
  tx: Tx,
  { organizationId, ...facts }: AuditFacts,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<void> {
  const chainId = chainOf(organizationId);
  const { sequence, previousDigest } = await takePlace(tx, chainId);
  const id = newUuid<"aud">();
  const event: AuditContent = {
    ...facts,
    id: encodeId("aud", id),
    organization_id: organizationId === null ? null : encodeId("org", organizationId),
    sequence,
    at: new Date(now).toISOString(),
    previous_digest: previousDigest ?? NO_DIGEST,
  };
  const content = canonicalJson(event);
  await insertAuditEvent(tx, chainId, {
    sequence,
    id,
    action: event.action,
    actorId: event.actor.id,
    resourceId: event.resource.id,
    content,
    digest: contentDigest(content),
  });
}
