import { createHash } from "node:crypto";
import type { AuditEvent } from "@keelson/contract";
import { canonicalJson } from "./canonical-json.ts";

export type AuditHead = { sequence: number; digest: string };

/** What was found: how many events are as they were written, the newest of them, and what is wrong with the next. */
export type AuditReport = { events: number; head: AuditHead | null; fault: string | null };

const FIRST: AuditHead = { sequence: 0, digest: "0".repeat(64) };

/**
 * Verifies a chain of exported events with nothing but the events: each has the digest of its own content, and names that of
 * the one before. An export may begin anywhere; what precedes it is taken on trust then.
 *
 * @param kept a head that was kept elsewhere, which the chain must contain
 */
export async function verifyAuditEvents(
  lines: AsyncIterable<string>,
  kept: AuditHead | null,
): Promise<AuditReport> {
  let last: AuditHead | null = null;
  let events = 0;
  let isKept = kept === null;
  for await (const line of lines) {
    if (line === "") continue;
    const event = JSON.parse(line) as AuditEvent;
    const fault = faultOf(event, last);
    if (fault !== null) return { events, head: last, fault };
    last = { sequence: event.sequence, digest: event.digest };
    events += 1;
    if (kept !== null && event.sequence === kept.sequence) {
      isKept = event.digest === kept.digest;
      if (!isKept)
        return { events, head: last, fault: `Event ${kept.sequence} is another than the one that was kept.` };
    }
  }
  const fault = isKept ? null : `Event ${kept?.sequence}, which was kept, is not there any more.`;
  return { events, head: last, fault };
}

function faultOf({ digest, ...content }: AuditEvent, last: AuditHead | null): string | null {
  const { sequence, previous_digest: previous } = content;
  const before = last ?? (sequence === 1 ? FIRST : { sequence: sequence - 1, digest: previous });
  if (sequence !== before.sequence + 1)
    return `After event ${before.sequence} comes event ${sequence}: events are missing.`;
  if (createHash("sha256").update(canonicalJson(content)).digest("hex") !== digest)
    return `Event ${sequence} was changed: its content does not have its digest.`;
  if (previous !== before.digest) return `Event ${sequence} was not written after the one before it.`;
  return null;
}
