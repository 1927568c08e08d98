import { isUtf8 } from "node:buffer";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import { comparePaths } from "./path.ts";
import { escapeAll, escapeText } from "./escape-text.ts";

/**
 * A folder on disk that other processes may change at any moment, even put a symbolic link in place of a folder. So it
 * is never named by its path from outside: each folder is held open, and what is in it is named through the open
 * folder, as `openat` would. Linux names an open folder by `/proc/self/fd`; elsewhere, where workspaces only run for
 * development, it is named by its path.
 */
export type OpenFolder = { readonly fd: number; readonly place: string };

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Linux's own flag, which Node.js does not name: holds an entry of any kind without opening what it is. */
const O_PATH = 0o10000000;
/** A file that is a pipe by now would block an ordinary open. */
export const FILE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

export function openRoot(path: string): OpenFolder {
  return hold(openSync(path, FOLDER_FLAGS), path);
}

/** @throws an error with code `ELOOP` or `ENOTDIR` when it is a folder no more. */
export function openChild(folder: OpenFolder, name: RawName): OpenFolder {
  const path = placeOf(folder, name);
  return hold(openSync(path, FOLDER_FLAGS), path.toString());
}

const hold = (fd: number, path: string): OpenFolder => ({
  fd,
  place: process.platform === "linux" ? nameOfOpen(fd) : path,
});

const nameOfOpen = (fd: number): string => `/proc/self/fd/${fd}`;

export const closeFolder = (folder: OpenFolder): void => closeSync(folder.fd);

/** What names an entry of an open folder; only for calls that do not follow a link there. */
export function placeOf(folder: OpenFolder, name: string): string;
export function placeOf(folder: OpenFolder, name: RawName): RawName;
export function placeOf(folder: OpenFolder, name: RawName): RawName {
  if (typeof name !== "string") return Buffer.concat([Buffer.from(`${folder.place}/`), name]);
  return process.platform === "linux" ? `${folder.place}/${name}` : join(folder.place, name);
}

/** As `placeOf`, for a name of any bytes. Only on Linux. */
export const placeOfBytes = (folder: OpenFolder, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${folder.place}/`), name]);

/** Opens a folder in an open one by a name of any bytes. Only on Linux. */
export const openChildBytes = (folder: OpenFolder, name: Buffer): OpenFolder =>
  hold(openSync(placeOfBytes(folder, name), FOLDER_FLAGS), "");

/** The folder that an open one is in now, which another process may have moved. Only on Linux. */
export const openParent = (folder: OpenFolder): OpenFolder =>
  hold(openSync(`${folder.place}/..`, FOLDER_FLAGS), "");

/** What an entry was when it was held, whatever has its name by now. */
export type HeldEntry = {
  readonly stat: Stats;
  chown(uid: number, gid: number): void;
  chmod(mode: number): void;
  /** Opens what is held; the caller has looked at its kind. */
  open(flags: number): number;
};

/**
 * Holds one entry during a call: a link itself, never what it points to, and a pipe, socket or device without opening it.
 * Only on Linux.
 */
export function withEntry<T>(place: string | Buffer, use: (entry: HeldEntry) => T): T {
  const fd = openSync(place, O_PATH | O_NOFOLLOW);
  try {
    // The kernel takes this name to what is held, and follows it no further when that is a link.
    const name = nameOfOpen(fd);
    return use({
      stat: fstatSync(fd),
      chown: (uid, gid) => chownSync(name, uid, gid),
      chmod: (mode) => chmodSync(name, mode),
      open: (flags) => openSync(name, flags),
    });
  } finally {
    closeSync(fd);
  }
}

/** Null when it is gone. */
export const statOf = (folder: OpenFolder, name: RawName): Stats | null =>
  lstatSync(placeOf(folder, name), { throwIfNoEntry: false }) ?? null;

/** A name as the system has it: bytes where it is not UTF-8. */
export type RawName = string | Buffer;

/** A name in a folder, and what a tree calls it; `name` is not UTF-8 where both differ. */
export type ListedName = { readonly name: RawName; readonly text: string };

/**
 * The names in a folder, sorted by the bytes of what a tree calls them. A name that is not UTF-8 is called by its bytes as
 * `\xNN`: those that are not ASCII text, or, where another name is called so already, all of them. One for which that is
 * taken as well is called "".
 */
export function namesIn(folder: OpenFolder): ListedName[] {
  // Listed through the open folder itself, which a link cannot be put in place of.
  const listed = process.platform === "linux" ? `${folder.place}/` : folder.place;
  const names = readdirSync(listed, { encoding: "buffer" });
  const found: ListedName[] = [];
  const taken = new Set<string>();
  for (const name of names) {
    if (!isUtf8(name)) continue;
    const text = name.toString("utf8");
    found.push({ name: text, text });
  }
  if (found.length < names.length) {
    for (const { text } of found) taken.add(text);
    // In the order of their bytes: each commit of the same folder calls them the same.
    for (const name of names.filter((bytes) => !isUtf8(bytes)).sort(Buffer.compare)) {
      const text = [escapeText(name), escapeAll(name)].find((call) => !taken.has(call)) ?? "";
      taken.add(text);
      found.push({ name, text });
    }
  }
  return found.sort((a, b) => comparePaths(a.text, b.text));
}

/** The text of a symbolic link; bytes that are not UTF-8 are escaped as in names. */
export function targetOf(folder: OpenFolder, name: RawName): { target: string; isEscaped: boolean } {
  const bytes = readlinkSync(placeOf(folder, name), { encoding: "buffer" });
  return isUtf8(bytes)
    ? { target: bytes.toString("utf8"), isEscaped: false }
    : { target: escapeText(bytes), isEscaped: true };
}

/** An entry is not there any more, or is of another kind by now. */
export const isGone = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes(String(error.code));
