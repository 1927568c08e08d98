import { randomBytes } from "node:crypto";
import { lstat, readdir, rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { BundleUses } from "./bundle-uses.ts";
import { decideEviction, LEFTOVER_MS, type CachedFolder, type EvictionBound } from "./decide-eviction.ts";
import { listCachedFolders } from "./list-cached-folders.ts";

export type EvictionContext = EvictionBound & {
  dataDir: string;
  uses: BundleUses;
  /** Called before the folders of a bundle go. */
  forget: (digest: string) => void;
  /** Whether a bundle is being fetched or laid out here: its files have no link yet. */
  isFetching: () => boolean;
  /** Names and inodes of files that evicted folders had, until these are removed. */
  freed: Set<string>;
  clock: Clock;
  logger: Logger;
};

/**
 * Removes bundles that nobody uses until the cache is within its bound, then the files that no bundle has any more.
 *
 * @returns the bytes that may be added before the cache is over its bound.
 */
export async function evictBundles(context: EvictionContext): Promise<number> {
  const { dataDir, uses, freed, clock, logger, maxBytes } = context;
  const now = clock.now();
  const folders = await listCachedFolders(dataDir);
  const used = new Set<string>();
  for (const { name, path } of folders) {
    if (!used.has(name) && !(await uses.isUsed(name))) continue;
    used.add(name);
    // The process may be killed before the use ends.
    if (uses.isHeld(name)) await utimes(path, now / 1000, now / 1000).catch(() => undefined);
  }
  const { evicted, bytesLeft } = decideEviction(folders, context, now, (name) => used.has(name));
  const kept = new Set(folders);
  for (const folder of evicted) {
    if (!(await evict(folder, context))) continue;
    kept.delete(folder);
    for (const key of [folder.name, ...folder.files.keys()]) freed.add(key);
  }
  const unlinkedBytes = await removeUnlinked(new Set([...kept].map(({ name }) => name)), context);
  const bytes = bytesLeft + unlinkedBytes;
  if (evicted.length > 0)
    logger.info({ evicted: evicted.length, bytes }, "bundles were evicted from the cache");
  return maxBytes - bytes;
}

/**
 * Takes a folder away by one rename, so that a bundle is there whole or not at all, and removes it then. Who begins to use the
 * bundle announces that before looking at the folder, and this looks at the announcements after the rename: one of the two
 * sees the other.
 */
async function evict({ path, name }: CachedFolder, { uses, forget }: EvictionContext): Promise<boolean> {
  if (await uses.isUsed(name)) return false;
  forget(name);
  const old = `${path}.${randomBytes(6).toString("hex")}.old`;
  try {
    await rename(path, old);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  const isBack = (await uses.isUsed(name)) && (await putBack(old, path));
  if (!isBack) await rm(old, { recursive: true, force: true });
  return !isBack;
}

/** False when the bundle was laid out again meanwhile. */
const putBack = (old: string, path: string): Promise<boolean> =>
  rename(old, path).then(
    () => true,
    () => false,
  );

/** @returns the bytes of files without a bundle that stay: those of a download under way. */
async function removeUnlinked(kept: ReadonlySet<string>, context: EvictionContext): Promise<number> {
  const { dataDir, uses, freed, clock, isFetching } = context;
  const folder = join(dataDir, "bundles", "files");
  let bytes = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    // The index of an archive is in no folder of it.
    if (found === null || found.nlink > 1 || kept.has(name) || uses.isHeld(name)) continue;
    const isOld = clock.now() - found.mtimeMs > LEFTOVER_MS;
    const isFreed = freed.has(name) || freed.has(`${found.dev}:${found.ino}`);
    if (isOld || (isFreed && !isFetching())) await rm(path, { force: true });
    else bytes += found.size;
  }
  if (!isFetching()) freed.clear();
  return bytes;
}
