import {
  constants,
  fstatSync,
  mkdirSync,
  fchownSync,
  fchmodSync,
  opendirSync,
  openSync,
  rmdirSync,
} from "node:fs";
import { closeSync, unlinkSync, type Stats } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { isUtf8 } from "node:buffer";
import { escapeText } from "./escape-text.ts";
import {
  closeFolder,
  FILE_FLAGS,
  isGone,
  openChild,
  openRoot,
  placeOf,
  statOf,
  targetOf,
  withEntry,
  type OpenFolder,
  type RawName,
} from "./folder.ts";
import type { Owner } from "./give-folder.ts";
import { LiveFileError, quote, toLiveFileError } from "./live-file-error.ts";
import { checkPath, comparePaths } from "./path.ts";
import { removeFolder } from "./remove-folder.ts";

/** A live folder, and whose its files are; null: whoever runs this. */
export type LiveTree = { readonly root: string; readonly owner: Owner | null };

export type LiveEntry = {
  /** From the root; a name that is not UTF-8 is escaped, and cannot be asked for. */
  path: string;
  kind: "file" | "directory" | "symlink" | "other";
  sizeBytes: number;
  /** Permission bits. */
  mode: number;
  linkTarget: string | null;
  modifiedAtMs: number;
};

const NEW_FOLDER_MODE = 0o755;
const ENTRIES_PER_TURN = 256;

/**
 * Calls `use` with the folder that an entry is in, held open. Each folder on the way is opened through the one above, and a
 * link is never followed, so programs that swap names for links lead nowhere else.
 *
 * @param make folders that are missing are made.
 * @throws LiveFileError
 */
export async function inFolderOf<T>(
  tree: LiveTree,
  path: string,
  make: boolean,
  use: (folder: OpenFolder, name: string) => T | Promise<T>,
): Promise<T> {
  try {
    checkPath(path);
    const names = path.split("/");
    const name = names.pop() as string;
    if (name === "") throw new LiveFileError("is_folder", "The path is empty: it is the workspace's root.");
    return await inFolder(tree, names, make, (folder) => use(folder, name));
  } catch (error) {
    throw toLiveFileError(error, path);
  }
}

async function inFolder<T>(
  tree: LiveTree,
  names: readonly string[],
  make: boolean,
  use: (folder: OpenFolder) => T | Promise<T>,
): Promise<T> {
  let folder = openRoot(tree.root);
  try {
    const { dev } = fstatSync(folder.fd);
    for (const name of names) {
      const child = enter(folder, name, make ? tree : null);
      closeFolder(folder);
      folder = child;
      if (fstatSync(folder.fd).dev !== dev)
        throw new LiveFileError("not_permitted", `${quote(name)} is another file system.`);
    }
    return await use(folder);
  } finally {
    closeFolder(folder);
  }
}

function enter(folder: OpenFolder, name: string, makeIn: LiveTree | null): OpenFolder {
  const isMade = makeIn !== null && makeFolder(folder, name);
  try {
    const child = openChild(folder, name);
    if (isMade) giveMade(child, makeIn);
    return child;
  } catch (error) {
    if (statOf(folder, name)?.isSymbolicLink() !== true) throw error;
    throw new LiveFileError(
      "is_link",
      `${quote(name)} on the way is a symbolic link; links are not followed.`,
    );
  }
}

function makeFolder(folder: OpenFolder, name: string): boolean {
  try {
    mkdirSync(placeOf(folder, name), NEW_FOLDER_MODE);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** A program may have put another folder in its place, which keeps its owner. */
function giveMade({ fd }: OpenFolder, { owner }: LiveTree): void {
  if (owner === null || fstatSync(fd).uid !== process.geteuid?.()) return;
  fchmodSync(fd, NEW_FOLDER_MODE);
  fchownSync(fd, owner.uid, owner.gid);
}

/**
 * Opens a file to be read. What is no regular file is not even opened.
 *
 * @returns its descriptor, which the caller closes.
 * @throws LiveFileError, also for a second name of a file that is not the workspace's: the first may be outside.
 */
export const openLive = (tree: LiveTree, path: string): Promise<number> =>
  inFolderOf(tree, path, false, (folder, name) => {
    const place = placeOf(folder, name);
    const { dev } = fstatSync(folder.fd);
    const check = (stat: Stats): void => {
      const problem = problemOf(stat, tree, path);
      if (problem !== null) throw problem;
      if (stat.dev !== dev)
        throw new LiveFileError("not_permitted", `${quote(path)} is another file system.`);
    };
    if (process.platform === "linux")
      return withEntry(place, (held) => {
        check(held.stat);
        return held.open(constants.O_RDONLY | constants.O_NONBLOCK);
      });
    const fd = openSync(place, FILE_FLAGS);
    try {
      check(fstatSync(fd));
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  });

function problemOf(stat: Stats, { owner }: LiveTree, path: string): LiveFileError | null {
  if (stat.isDirectory()) return new LiveFileError("is_folder", `${quote(path)} is a folder.`);
  if (stat.isSymbolicLink())
    return new LiveFileError("is_link", `${quote(path)} is a symbolic link; links are not followed.`);
  if (!stat.isFile())
    return new LiveFileError("not_a_file", `${quote(path)} is a pipe, a socket or a device, not a file.`);
  if (stat.nlink > 1 && owner !== null && stat.uid !== owner.uid)
    return new LiveFileError(
      "not_permitted",
      `${quote(path)} has several names and does not belong to the workspace's user.`,
    );
  return null;
}

/** @throws LiveFileError */
export const statLive = (tree: LiveTree, path: string): Promise<LiveEntry> =>
  inFolderOf(tree, path, false, (folder, name) => {
    const entry = describe(folder, name, path);
    if (entry === null) throw new LiveFileError("not_found", `${quote(path)} is not in the workspace.`);
    return entry;
  });

/**
 * The entries of a folder, by name.
 *
 * @throws LiveFileError `too_large` when there are more than `maxEntries`.
 */
export async function listLive(tree: LiveTree, path: string, maxEntries: number): Promise<LiveEntry[]> {
  try {
    checkPath(path);
    const names = path === "" ? [] : path.split("/");
    return await inFolder(tree, names, false, async (folder) => {
      const found: LiveEntry[] = [];
      for (const name of readNames(folder, path, maxEntries)) {
        const entry = describe(folder, name, path === "" ? textOf(name) : `${path}/${textOf(name)}`);
        if (entry !== null) found.push(entry);
        if (found.length % ENTRIES_PER_TURN === 0) await turn();
      }
      return found.sort((a, b) => comparePaths(a.path, b.path));
    });
  } catch (error) {
    throw toLiveFileError(error, path);
  }
}

/** Not all at once: a program can make more names than memory holds. */
function readNames(folder: OpenFolder, path: string, maxEntries: number): RawName[] {
  // Through the open folder itself, which a link cannot be put in place of.
  const listed = process.platform === "linux" ? `${folder.place}/` : folder.place;
  const opened = opendirSync(listed, { encoding: "buffer" as BufferEncoding, bufferSize: 1024 });
  try {
    const names: RawName[] = [];
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      if (names.length === maxEntries)
        throw new LiveFileError("too_large", `${quote(path)} has more than ${maxEntries} entries.`);
      const bytes = entry.name as unknown as Buffer;
      names.push(isUtf8(bytes) ? bytes.toString("utf8") : bytes);
    }
    return names;
  } finally {
    opened.closeSync();
  }
}

const textOf = (name: RawName): string => (typeof name === "string" ? name : escapeText(name));

/** Null when it is gone. */
function describe(folder: OpenFolder, name: RawName, path: string): LiveEntry | null {
  const stat = statOf(folder, name);
  if (stat === null) return null;
  return {
    path,
    kind: kindOf(stat),
    sizeBytes: stat.isFile() ? stat.size : 0,
    mode: stat.mode & 0o7777,
    linkTarget: stat.isSymbolicLink() ? linkTargetOf(folder, name) : null,
    modifiedAtMs: stat.mtimeMs,
  };
}

function kindOf(stat: Stats): LiveEntry["kind"] {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "directory";
  return stat.isSymbolicLink() ? "symlink" : "other";
}

function linkTargetOf(folder: OpenFolder, name: RawName): string | null {
  try {
    return targetOf(folder, name).target;
  } catch (error) {
    // A link no more.
    if (isGone(error) || (error as NodeJS.ErrnoException).code === "EINVAL") return null;
    throw error;
  }
}

/**
 * Removes an entry; of a link itself, never what it points to.
 *
 * @param isRecursive a folder goes with everything in it, else only when it is empty.
 * @throws LiveFileError
 */
export const removeLive = (tree: LiveTree, path: string, isRecursive: boolean): Promise<void> =>
  inFolderOf(tree, path, false, async (folder, name) => {
    const place = placeOf(folder, name);
    const stat = statOf(folder, name);
    if (stat === null) throw new LiveFileError("not_found", `${quote(path)} is not in the workspace.`);
    if (!stat.isDirectory()) unlinkSync(place);
    // Named through the folder that is held, so its parent cannot be swapped.
    else if (isRecursive) await removeFolder(place);
    else rmdirSync(place);
  });
