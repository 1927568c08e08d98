import {
  deleteRemovedBlob,
  lockCandidates,
  markCandidates,
  listRemovals,
  type BlobKey,
} from "./blob-writes.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { removeAlone, type Collected } from "./remove-alone.ts";
import type { BlobContext } from "./store-blob.ts";

/**
 * How long bytes are kept that no version names. An upload and the commit that names it must happen within it, and so
 * must the commit of whoever was told that they are there.
 */
export const BLOB_GRACE_MS = 24 * 3_600_000;
/** Of the one server that removes bytes. */
const COLLECTOR_LOCK = 7_233_101_883;

/**
 * Removes blobs that nothing needs and nobody touched within the grace. The decision is made under the row's lock.
 */
export function collectBlobs(
  context: BlobContext & ItemContext,
  graceMs: number = BLOB_GRACE_MS,
): Promise<Collected> {
  const { db, workspaceBlobs } = context;
  return removeAlone<BlobKey>(context, {
    loop: "collect-blobs",
    lock: COLLECTOR_LOCK,
    listBegun: (due) => listRemovals(db, due),
    take: (tx, due) => lockCandidates(tx, due.now - graceMs, due),
    begin: markCandidates,
    end: async (blob) => {
      await workspaceBlobs(blob.environmentId).remove(blob.digest.toString("hex"));
      await deleteRemovedBlob(db, blob);
    },
  });
}
