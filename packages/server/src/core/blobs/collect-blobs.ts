import {
  deleteRemovedBlob,
  lockCandidates,
  markCandidates,
  takeAbandonedRemovals,
  type BlobKey,
} from "./blob-writes.ts";
import { mayRemove } from "./removal-lock.ts";
import type { BlobContext } from "./store-blob.ts";

/**
 * How long bytes are kept that no version names. An upload and the commit that names it must happen within it, and so
 * must the commit of whoever was told that they are there.
 */
export const BLOB_GRACE_MS = 24 * 3_600_000;
const ABANDONED_AFTER_MS = 5 * 60_000;
const BATCH = 200;

/**
 * Removes blobs that no workspace needs and nobody touched within the grace. The decision is made under the row's lock;
 * from then on the blob is as good as gone for everybody, and the bytes are removed outside the transaction. While a
 * backup is being written, nothing more is decided.
 *
 * @returns how many there were; a full batch means that there may be more.
 */
export async function collectBlobs(
  context: BlobContext,
  graceMs: number = BLOB_GRACE_MS,
): Promise<{ removed: number; mayHaveMore: boolean }> {
  const { db, clock } = context;
  const now = clock();
  const abandoned = await takeAbandonedRemovals(db, now - ABANDONED_AFTER_MS, now);
  const { marked, full } = await db.transaction(async (tx) => {
    if (!(await mayRemove(tx))) return { marked: [], full: false };
    const locked = await lockCandidates(tx, now - graceMs, BATCH);
    const unneeded = locked.length === 0 ? [] : await markCandidates(tx, locked, now);
    return { marked: unneeded, full: locked.length === BATCH };
  });
  const removals = [...abandoned, ...marked];
  for (const blob of removals) await remove(context, blob);
  return { removed: removals.length, mayHaveMore: full };
}

async function remove({ db, workspaceBlobs }: BlobContext, blob: BlobKey): Promise<void> {
  await workspaceBlobs(blob.environmentId).remove(blob.digest.toString("hex"));
  await deleteRemovedBlob(db, blob);
}
