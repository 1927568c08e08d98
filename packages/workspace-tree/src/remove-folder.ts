import { execFile } from "node:child_process";
import { lstatSync, rmdirSync, unlinkSync } from "node:fs";
import { promisify } from "node:util";
import { closeFolder, openRoot, placeOfBytes, withEntry } from "./folder.ts";
import { walkLiveFolder } from "./walk-live-folder.ts";

/** How often a folder is gone through that is not empty afterwards, because a program still writes into it. */
const MAX_PASSES = 5;

/**
 * Removes a folder and everything in it: names of any bytes, folders that may not be read or written, any depth. A link is
 * removed and what it points to is not, whatever programs swap meanwhile. What cannot be removed is left, and everything
 * else goes. Nothing there is fine.
 *
 * @param path whose parent nobody else may change.
 * @throws the first error that kept something from being removed.
 */
export async function removeFolder(path: string): Promise<void> {
  // Workspaces elsewhere are for development: what is in them is named by its path.
  if (process.platform !== "linux") return removeByPath(path);
  for (let pass = 1; ; pass += 1) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (!stat.isDirectory()) return unlinkSync(path);
    const failure = await empty(path);
    try {
      return rmdirSync(path);
    } catch (error) {
      if (failure !== null && pass > 1) throw failure.error;
      if (pass === MAX_PASSES) throw error;
    }
  }
}

async function empty(path: string): Promise<{ error: unknown } | null> {
  let failure: { error: unknown } | null = null;
  openToOwner(path);
  const root = openRoot(path);
  try {
    await walkLiveFolder(root, {
      entry: (folder, name) => isToEnter(placeOfBytes(folder, name)),
      enter: () => undefined,
      leave: (parent, name) => rmdirSync(placeOfBytes(parent, name)),
      failed: (error) => (failure ??= { error }),
    });
  } finally {
    closeFolder(root);
  }
  return failure;
}

/** Removes what can be removed at once; true for a folder with something in it. */
function isToEnter(place: Buffer): boolean {
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  if (!stat.isDirectory()) {
    unlinkSync(place);
    return false;
  }
  openToOwner(place);
  return true;
}

/** Lets its owner, who may have taken these rights away, list and change a folder. */
function openToOwner(place: string | Buffer): void {
  withEntry(place, ({ stat, chmod }) => {
    const isClosed = stat.isDirectory() && (stat.mode & 0o700) !== 0o700;
    if (isClosed && stat.uid === process.geteuid?.()) chmod(0o700);
  });
}

async function removeByPath(path: string): Promise<void> {
  const run = promisify(execFile);
  // Neither follows a link, and neither is bound by the length of a path.
  await run("chmod", ["-R", "u+rwx", path]).catch(() => undefined);
  await run("rm", ["-rf", "--", path]);
}
