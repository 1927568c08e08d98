/** A folder of a bundle's files. */
export type CachedFolder = {
  path: string;
  /** The bundle's digest, or any other name of what a crash left. */
  name: string;
  usedAt: number;
  /** Bytes by file. Folders that share a file have the same key. */
  files: ReadonlyMap<string, number>;
};

export type EvictionBound = {
  maxBytes: number;
  /** A folder that nobody used for this long goes, whatever its size. */
  maxAgeMs: number;
};

export type EvictionPlan = { evicted: CachedFolder[]; bytesLeft: number };

const DIGEST = /^[0-9a-f]{64}$/;
/** What has another name than a digest is being made, or is what a crash left: no folder is made for this long. */
export const LEFTOVER_MS = 3_600_000;

/** Chooses what goes: leftovers, folders that are too old, then the least recently used until the rest is within the bound. */
export function decideEviction(
  folders: readonly CachedFolder[],
  { maxBytes, maxAgeMs }: EvictionBound,
  now: number,
  isUsed: (name: string) => boolean,
): EvictionPlan {
  const links = new Map<string, number>();
  let bytesLeft = 0;
  for (const { files } of folders)
    for (const [key, bytes] of files) {
      if (!links.has(key)) bytesLeft += bytes;
      links.set(key, (links.get(key) ?? 0) + 1);
    }
  const evicted: CachedFolder[] = [];
  for (const folder of folders.toSorted((a, b) => a.usedAt - b.usedAt)) {
    if (isUsed(folder.name)) continue;
    const age = now - folder.usedAt;
    const isLeftover = !DIGEST.test(folder.name);
    if (isLeftover ? age < LEFTOVER_MS : age < maxAgeMs && bytesLeft <= maxBytes) continue;
    evicted.push(folder);
    for (const [key, bytes] of folder.files) {
      const left = (links.get(key) ?? 0) - 1;
      links.set(key, left);
      if (left === 0) bytesLeft -= bytes;
    }
  }
  return { evicted, bytesLeft };
}
