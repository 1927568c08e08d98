import type { Stats } from "node:fs";
import type { TreeEntry } from "./tree.ts";

/**
 * What a scan found, by path, so that the next one reads only files that changed. A file is taken as unchanged while
 * its inode, size, mode and both of its times are: the change time cannot be set by the programs that run here.
 */
export type StatCache = Map<string, CachedStat>;

export type CachedStat = {
  readonly ino: number;
  readonly dev: number;
  readonly size: number;
  readonly mode: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly entry: TreeEntry;
};

/**
 * The kernel stamps files with a clock that moves in steps of up to 10 ms. A file that changed as lately as this before
 * it was read may change again without a new time; it is read again the next time.
 */
export const RACY_MS = 50;

export const cachedStat = (stat: Stats, entry: TreeEntry): CachedStat => ({
  ino: stat.ino,
  dev: stat.dev,
  size: stat.size,
  mode: stat.mode,
  mtimeMs: stat.mtimeMs,
  ctimeMs: stat.ctimeMs,
  entry,
});

export const isUnchanged = (cached: CachedStat, stat: Stats): boolean =>
  cached.ctimeMs === stat.ctimeMs &&
  cached.mtimeMs === stat.mtimeMs &&
  cached.size === stat.size &&
  cached.ino === stat.ino &&
  cached.mode === stat.mode &&
  cached.dev === stat.dev;
