import { isUtf8 } from "node:buffer";
import { closeSync, constants, lstatSync, openSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { comparePaths } from "./path.ts";
import { TreeError } from "./tree-error.ts";

/**
 * A folder on disk that other processes may change at any moment, even put a symbolic link in place of a folder. So it
 * is never named by its path from outside: each folder is held open, and what is in it is named through the open
 * folder, as `openat` would. Linux names an open folder by `/proc/self/fd`; elsewhere, where workspaces only run for
 * development, it is named by its path.
 */
export type OpenFolder = { readonly fd: number; readonly place: string };

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** A file that is a pipe by now would block an ordinary open. */
export const FILE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

export function openRoot(path: string): OpenFolder {
  return hold(openSync(path, FOLDER_FLAGS), path);
}

/** @throws an error with code `ELOOP` or `ENOTDIR` when it is a folder no more. */
export function openChild(folder: OpenFolder, name: string): OpenFolder {
  const path = placeOf(folder, name);
  return hold(openSync(path, FOLDER_FLAGS), path);
}

const hold = (fd: number, path: string): OpenFolder => ({
  fd,
  place: process.platform === "linux" ? `/proc/self/fd/${fd}` : path,
});

export const closeFolder = (folder: OpenFolder): void => closeSync(folder.fd);

/** What names an entry of an open folder; only for calls that do not follow a link there. */
export const placeOf = (folder: OpenFolder, name: string): string =>
  process.platform === "linux" ? `${folder.place}/${name}` : join(folder.place, name);

/** Null when it is gone. */
export const statOf = (folder: OpenFolder, name: string): Stats | null =>
  lstatSync(placeOf(folder, name), { throwIfNoEntry: false }) ?? null;

/**
 * The names in a folder, sorted by their bytes.
 *
 * @throws TreeError `unstorable` for a name that is not UTF-8.
 */
export function namesIn(folder: OpenFolder, path: string): string[] {
  // Listed through the open folder itself, which a link cannot be put in place of.
  const listed = process.platform === "linux" ? `${folder.place}/` : folder.place;
  return readdirSync(listed, { encoding: "buffer" })
    .map((name) => textOf(name, path === "" ? "the root" : JSON.stringify(path), "a name"))
    .sort(comparePaths);
}

/** The text of a symbolic link. */
export function targetOf(folder: OpenFolder, name: string, path: string): string {
  return textOf(
    readlinkSync(placeOf(folder, name), { encoding: "buffer" }),
    JSON.stringify(path),
    "a link target",
  );
}

function textOf(bytes: Buffer, where: string, what: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const shown = bytes.toString("latin1").replaceAll(/[^\x20-\x7e]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  throw new TreeError(
    "unstorable",
    `There is ${what} in ${where} that is not UTF-8: "${shown}". Rename or remove it, then commit again.`,
    { where, name: shown },
  );
}
