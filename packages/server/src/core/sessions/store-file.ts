import { LIMITS, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { storeBlob, type BlobContext } from "../blobs/store-blob.ts";
import { findEqualFile } from "./session-file-reads.ts";
import { requireFileDigest, type FileFacts, type FilePlace, type FileRow } from "./session-file.ts";
import { insertSessionFile } from "./session-file-writes.ts";
import { findSession, lockSession, type StoredSession } from "./session-reads.ts";

export type FileUpload = FileFacts & {
  /** SHA-256, lower-case hexadecimal; what the bytes must be. */
  digest: string;
  bytes: AsyncIterable<Uint8Array>;
  /** The run that uploads it; null for others. */
  runId: Uuid<"run"> | null;
};

export type StoredFile = { file: FileRow; created: boolean };

/**
 * Stores bytes and has the session refer to them. What is refused is refused before a byte is read, and again once all are there,
 * in the transaction that adds the file: a session may end meanwhile. Bytes of a refused upload are collected. A session that has ended
 * takes files of its run that still finishes, as it takes output. A file that it has already is no new one: a repeat is answered.
 *
 * @param onAdded done in that transaction when the session did not have the file.
 * @throws DomainError `not_found`, `session_closed`, `invalid_request` when the bytes have another digest, `payload_too_large` or
 * `unavailable`.
 */
export async function storeFile(
  context: BlobContext & { newUuid: NewUuid },
  place: FilePlace,
  { digest, bytes, name, mediaType, runId }: FileUpload,
  onAdded: (tx: Tx) => Promise<void> = () => Promise.resolve(),
): Promise<StoredFile> {
  requireFileDigest(digest);
  const { environmentId, sessionId } = place;
  const facts = { name, mediaType, digest: Buffer.from(digest, "hex") };
  const session = requireSession(await findSession(context.db, environmentId, sessionId));
  if ((await findEqualFile(context.db, place, facts)) === null) requireOpen(session, runId);
  const { sizeBytes } = await storeBlob(context, environmentId, digest, bytes, LIMITS.sessionFileBytes);
  return context.db.transaction(async (tx) => {
    // Of two who upload the same file, the second waits here and then finds the first one's. A session that ends waits, too.
    const locked = requireSession(await lockSession(tx, environmentId, sessionId));
    const known = await findEqualFile(tx, place, facts);
    if (known !== null) return { file: known, created: false };
    requireOpen(locked, runId);
    await onAdded(tx);
    const file = { ...place, ...facts, sizeBytes, id: context.newUuid<"file">(), createdAt: context.clock() };
    if (!(await insertSessionFile(tx, file)))
      throw new DomainError(
        "unavailable",
        "The bytes are just being removed as unneeded; upload them again.",
      );
    return { file, created: true };
  });
}

function requireSession(session: StoredSession | null): StoredSession {
  if (session === null) throw notFound();
  return session;
}

/** @param runId of the caller. A run has a credential only as long as it is live. */
function requireOpen({ status, currentRunId }: StoredSession, runId: Uuid<"run"> | null): void {
  if (status === "open" || (runId !== null && runId === currentRunId)) return;
  throw new DomainError(
    "session_closed",
    `The session has ended as ${status}: its files can be read, and it takes no more. Start another session.`,
    { status },
  );
}
