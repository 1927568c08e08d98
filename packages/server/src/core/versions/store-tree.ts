import type { Uuid } from "@keelson/contract";
import { encodeManifest, type Tree } from "@keelson/workspace-tree";
import { blobSink, type BlobContext } from "../blobs/store-blob.ts";
import type { StoredTree } from "./version.ts";

/** Stores the manifest of a tree whose pieces are stored. */
export async function storeTree(
  context: BlobContext,
  environmentId: Uuid<"env">,
  tree: Tree,
): Promise<StoredTree> {
  const manifest = await encodeManifest(tree);
  await blobSink(context, environmentId).put(manifest.digest, manifest.bytes);
  return toStoredTree(tree, manifest.digest, manifest.blobs);
}

export const toStoredTree = (tree: Tree, manifestDigest: string, blobs: readonly string[]): StoredTree => ({
  digest: tree.digest,
  manifestDigest,
  blobs,
  fileCount: tree.fileCount,
  sizeBytes: tree.sizeBytes,
});
