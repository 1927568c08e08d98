import { chmodSync, closeSync, constants, fstatSync, openSync, type Stats } from "node:fs";
import type { RawName } from "./folder.ts";

/** Linux's own: names what is there without reading it, so it needs no right to. */
const O_PATH = 0o10000000;

export const FOLDER_RIGHTS = 0o500;
export const FILE_RIGHTS = 0o400;

/**
 * Lets whoever runs this read what is its own and has been made unreadable even for its owner, as `chmod 000` does. Never
 * follows a link: what was looked at is named by a descriptor.
 *
 * @returns what gives the mode back; null when nothing was to be changed, or cannot be.
 */
export function takeRights(place: RawName, seen: Stats, rights: number): (() => void) | null {
  const uid = process.getuid?.() ?? 0;
  if (process.platform !== "linux" || uid === 0 || seen.uid !== uid) return null;
  if ((seen.mode & rights) === rights) return null;
  const fd = openSync(place, O_PATH | constants.O_NOFOLLOW);
  const giveBack = (mode: number): void => {
    try {
      chmodSync(`/proc/self/fd/${fd}`, mode);
    } finally {
      closeSync(fd);
    }
  };
  const stat = fstatSync(fd);
  const isSame = stat.ino === seen.ino && stat.dev === seen.dev && (stat.isFile() || stat.isDirectory());
  if (!isSame) {
    closeSync(fd);
    return null;
  }
  try {
    chmodSync(`/proc/self/fd/${fd}`, (stat.mode & 0o7777) | rights);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return () => giveBack(stat.mode & 0o7777);
}
