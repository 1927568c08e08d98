import type { Uuid } from "@keelson/contract";
import { decodeManifest, TreeError, type Tree } from "@keelson/workspace-tree";
import { blobSource, type BlobContext } from "../blobs/store-blob.ts";

export type LoadedTree = { tree: Tree; blobs: readonly string[] };

/**
 * Trees as reads need them. A tree never changes, so what was read once is held; the most recently used whose entries
 * fit together into the bound. Concurrent misses share one read.
 */
export type TreeCache = {
  /**
   * The tree of a manifest.
   *
   * @throws TreeError `missing_blob`, `damaged`.
   */
  load(environmentId: Uuid<"env">, manifestDigest: string): Promise<LoadedTree>;
};

/** An entry takes about 400 bytes. */
const MAX_ENTRIES = 300_000;
/** An empty tree is not free either. */
const ENTRIES_OF_A_TREE = 16;

export function createTreeCache(context: BlobContext): TreeCache {
  // Least recently used first.
  const held = new Map<string, LoadedTree>();
  const reading = new Map<string, Promise<LoadedTree>>();
  let entries = 0;

  const hold = (key: string, loaded: LoadedTree): void => {
    held.set(key, loaded);
    entries += loaded.tree.entries.length + ENTRIES_OF_A_TREE;
    for (const [oldest, { tree }] of held) {
      if (entries <= MAX_ENTRIES || oldest === key) return;
      held.delete(oldest);
      entries -= tree.entries.length + ENTRIES_OF_A_TREE;
    }
  };

  const read = async (key: string, environmentId: Uuid<"env">, digest: string): Promise<LoadedTree> => {
    try {
      const bytes = await blobSource(context, environmentId).get(digest);
      if (bytes === null)
        throw new TreeError("missing_blob", `The manifest ${digest} is not there.`, { digest });
      const loaded = await decodeManifest(digest, bytes);
      hold(key, loaded);
      return loaded;
    } finally {
      reading.delete(key);
    }
  };

  return {
    load: (environmentId, digest) => {
      const key = `${environmentId} ${digest}`;
      const known = held.get(key);
      if (known !== undefined) {
        held.delete(key);
        held.set(key, known);
        return Promise.resolve(known);
      }
      let underWay = reading.get(key);
      if (underWay === undefined) reading.set(key, (underWay = read(key, environmentId, digest)));
      return underWay;
    },
  };
}
