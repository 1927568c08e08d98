import type { UpdateSession, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { expiryOf, metadataText } from "./create-session.ts";
import { lockSession } from "./session-reads.ts";
import { updateSessionFields } from "./session-writes.ts";

/**
 * Replaces what is given. The time of an ended session stays as it was.
 *
 * @throws DomainError `not_found`, `invalid_request`, `payload_too_large`, `invalid_state`.
 */
export async function updateSession(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
  changes: UpdateSession,
  now: number,
): Promise<void> {
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null) throw notFound();
  if (changes.expires_at !== undefined && session.status !== "open") {
    throw new DomainError(
      "invalid_state",
      `The session has already ended as ${session.status}; leave expires_at out.`,
      { status: session.status },
    );
  }
  await updateSessionFields(
    tx,
    session,
    {
      ...(changes.metadata === undefined ? {} : { metadata: metadataText(changes.metadata) }),
      ...(changes.tags === undefined ? {} : { tags: changes.tags }),
      ...(changes.expires_at === undefined ? {} : { expiresAt: expiryOf(changes.expires_at, now) }),
    },
    now,
  );
}
