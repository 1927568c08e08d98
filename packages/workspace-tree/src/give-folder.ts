import { fchownSync, lstatSync, type Stats } from "node:fs";
import { closeFolder, openRoot, placeOfBytes, withEntry } from "./folder.ts";
import { TREE_LIMITS } from "./path.ts";
import { TreeError } from "./tree-error.ts";
import { walkLiveFolder } from "./walk-live-folder.ts";

export type Owner = { readonly uid: number; readonly gid: number };

/** Four times what a version may have. A program can make folders faster than they are given, and others wait meanwhile. */
const MAX_ENTRIES = 4 * TREE_LIMITS.entries;
/** How many withheld entries are named. */
const MAX_NAMED = 20;

/**
 * Makes someone the owner of a live folder and of everything in it that has another owner, while programs may be changing
 * it. Ownership is given to what is held open, so nothing outside of the folder is reached by a link or a swapped name.
 *
 * An entry with several names keeps its owner: another of its names may be outside. So do devices, and other file systems
 * that are mounted there. Only on Linux.
 *
 * @returns the names of up to 20 entries that keep their owner.
 * @throws TreeError `too_large` after `maxEntries`; the first error that kept an entry from being given, after all others are.
 */
export async function giveFolder(
  path: string,
  { uid, gid }: Owner,
  maxEntries: number = MAX_ENTRIES,
): Promise<string[]> {
  const withheld: string[] = [];
  let seen = 0;
  let failure: { error: unknown } | null = null;
  const root = openRoot(path);
  try {
    await walkLiveFolder(root, {
      entry(folder, name) {
        if ((seen += 1) > maxEntries) {
          failure ??= {
            error: new TreeError("too_large", `The folder has more than ${maxEntries} entries.`),
          };
          return false;
        }
        const place = placeOfBytes(folder, name);
        const stat = lstatSync(place, { throwIfNoEntry: false });
        if (stat === undefined) return false;
        if (stat.isDirectory()) return true;
        if (stat.uid !== uid)
          withEntry(place, (held) => {
            if (mayBeGiven(held.stat)) held.chown(uid, gid);
            else if (!held.stat.isDirectory() && withheld.length < MAX_NAMED)
              withheld.push(name.toString("utf8"));
          });
        return false;
      },
      enter(folder, stat) {
        if (stat.uid !== uid) fchownSync(folder.fd, uid, gid);
      },
      leave: () => undefined,
      failed: (error) => (failure ??= { error }),
    });
  } finally {
    closeFolder(root);
  }
  rethrow(failure);
  return withheld;
}

const mayBeGiven = (stat: Stats): boolean =>
  stat.nlink === 1 && (stat.isFile() || stat.isSymbolicLink() || stat.isFIFO() || stat.isSocket());

function rethrow(failure: { error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}
