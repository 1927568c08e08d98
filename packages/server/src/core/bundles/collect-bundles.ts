import type { Tx } from "../../db/queryable.ts";
import { removeAlone, type Collected } from "../blobs/remove-alone.ts";
import type { BlobStore } from "../blobs/blob.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import {
  deleteBundleCandidates,
  deleteBundleFiles,
  deleteBundleRemoval,
  deleteBundles,
  insertBundleRemovals,
  listBundleRemovals,
  listUnneededBundles,
  lockBundleCandidates,
  takeCollectionLock,
  type BundleKey,
} from "./bundle-collection-writes.ts";

export type CollectBundlesContext = ItemContext & {
  /** Of bundles. */
  blobs: BlobStore;
};

/** How long a bundle is kept that no deployment has: an upload and the creation of its deployment must happen within it. */
export const BUNDLE_GRACE_MS = 24 * 3_600_000;
/** Of the one server that removes bytes. */
const COLLECTOR_LOCK = 7_233_101_882;

/**
 * Removes bundles that no deployment has and nobody touched within the grace. What goes is decided while nobody announces
 * an upload, and under locks that the creation of a deployment waits for; until its bytes are removed nobody uploads it.
 */
export function collectBundles(context: CollectBundlesContext): Promise<Collected> {
  const { db, blobs } = context;
  return removeAlone(context, {
    loop: "collect-bundles",
    lock: COLLECTOR_LOCK,
    listBegun: (due) => listBundleRemovals(db, due),
    take: async (tx, due) => {
      await takeCollectionLock(tx);
      return lockBundleCandidates(tx, due.now - BUNDLE_GRACE_MS, due);
    },
    begin: beginRemovals,
    end: async ({ digest }) => {
      await blobs.remove(digest.toString("hex"));
      await deleteBundleRemoval(db, digest);
    },
  });
}

async function beginRemovals(tx: Tx, locked: BundleKey[], now: number): Promise<BundleKey[]> {
  const unneeded = await listUnneededBundles(tx, locked);
  await deleteBundleCandidates(tx, locked);
  await deleteBundleFiles(tx, unneeded, now);
  await deleteBundles(tx, unneeded);
  return insertBundleRemovals(tx, unneeded, now);
}
