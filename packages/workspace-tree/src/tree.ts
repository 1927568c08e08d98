import { createHash } from "node:crypto";
import { comparePaths, nameProblem, TREE_LIMITS } from "./path.ts";
import { TreeError } from "./tree-error.ts";

/**
 * The files of a workspace at one moment. A file's bytes are in pieces, blobs that are named by the SHA-256 of what is
 * stored; several small files share one, a large file has one for each 4 MiB. Symbolic links are text, never followed.
 */
export type Extent = {
  /** Digest of the stored piece. */
  readonly blob: string;
  /** Where the bytes begin in the piece once it is decompressed. */
  readonly offset: number;
  readonly length: number;
};

type EntryFields = {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
};

export type FileEntry = EntryFields & {
  readonly kind: "file";
  /** Permission bits, at most 0o777. */
  readonly mode: number;
  readonly size: number;
  /** SHA-256 of the whole content. */
  readonly digest: string;
  readonly extents: readonly Extent[];
};
export type DirectoryEntry = EntryFields & { readonly kind: "directory"; readonly mode: number };
export type SymlinkEntry = EntryFields & { readonly kind: "symlink"; readonly target: string };
export type TreeEntry = FileEntry | DirectoryEntry | SymlinkEntry;

export type Tree = {
  /** In the order of `comparePaths`. The root is not among them. */
  readonly entries: readonly TreeEntry[];
  /** For each entry, the index after the last one inside it. */
  readonly ends: Uint32Array;
  readonly fileCount: number;
  readonly sizeBytes: number;
  /** Says what the tree is, whatever it is stored in: paths, kinds, modes, contents and targets, but no times. */
  readonly digest: string;
};

const HEX_DIGEST = /^[0-9a-f]{64}$/;

/** The last millisecond of the year 9999, the last that can be written. */
const LATEST_MS = 253_402_300_799_999;

/** A file's time as a tree keeps it: programs can set any, even before 1970. */
export const toModifiedAt = (mtimeMs: number): number =>
  Math.min(Math.max(0, Math.floor(mtimeMs)), LATEST_MS);

/** The last segment. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** The path of the directory that holds it; empty for the root. */
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/**
 * Checks entries and makes a tree of them.
 *
 * @throws TreeError `damaged` when they are not sorted, have no parent, or hold what a tree cannot; `too_large`.
 */
export function buildTree(entries: readonly TreeEntry[]): Tree {
  if (entries.length > TREE_LIMITS.entries) {
    throw new TreeError(
      "too_large",
      `The tree has ${entries.length} entries; at most ${TREE_LIMITS.entries} can be kept.`,
      { entries: entries.length, limit: TREE_LIMITS.entries },
    );
  }
  const ends = new Uint32Array(entries.length);
  const digest = new TreeDigest();
  const open: number[] = [];
  let fileCount = 0;
  let sizeBytes = 0;
  let before: string | null = null;
  for (const [index, entry] of entries.entries()) {
    const { path } = entry;
    if (before !== null && comparePaths(before, path) >= 0) throw malformed(path, "is not in order");
    before = path;
    checkEntry(entry);
    const parent = parentOf(path);
    while (open.length > 0 && entries[open.at(-1) as number]?.path !== parent)
      ends[open.pop() as number] = index;
    if (open.length === 0 && parent !== "") throw malformed(path, "is in no directory");
    ends[index] = index + 1;
    if (entry.kind === "directory") open.push(index);
    if (entry.kind === "file") {
      fileCount += 1;
      sizeBytes += entry.size;
    }
    digest.add(entry);
  }
  for (const index of open) ends[index] = entries.length;
  return { entries, ends, fileCount, sizeBytes, digest: digest.end() };
}

const malformed = (path: string, what: string): TreeError =>
  new TreeError("damaged", `The tree's entry ${JSON.stringify(path.slice(0, 200))} ${what}.`, { path });

function checkEntry(entry: TreeEntry): void {
  const { path } = entry;
  const problem = nameProblem(nameOf(path));
  if (problem !== null) throw malformed(path, problem);
  if (path.length * 3 > TREE_LIMITS.pathBytes && Buffer.byteLength(path) > TREE_LIMITS.pathBytes)
    throw malformed(path, "has too long a path");
  if (!Number.isSafeInteger(entry.modifiedAt) || entry.modifiedAt !== toModifiedAt(entry.modifiedAt))
    throw malformed(path, "has no time");
  if (entry.kind === "symlink") {
    const { target } = entry;
    if (
      target === "" ||
      target.includes("\0") ||
      !target.isWellFormed() ||
      target.length > TREE_LIMITS.pathBytes
    )
      throw malformed(path, "has a link target that cannot be");
    return;
  }
  if (!Number.isInteger(entry.mode) || entry.mode < 0 || entry.mode > 0o777)
    throw malformed(path, "has no mode of permission bits");
  if (entry.kind === "file") checkFile(entry);
}

function checkFile({ path, size, digest, extents }: FileEntry): void {
  if (!HEX_DIGEST.test(digest)) throw malformed(path, "has no digest");
  let length = 0;
  for (const extent of extents) {
    if (
      !HEX_DIGEST.test(extent.blob) ||
      !Number.isSafeInteger(extent.offset) ||
      extent.offset < 0 ||
      !Number.isSafeInteger(extent.length) ||
      extent.length <= 0
    )
      throw malformed(path, "has a piece that cannot be");
    length += extent.length;
  }
  if (length !== size) throw malformed(path, "has not as many bytes in its pieces as it says");
}

/** Fields end with NUL, which none of them can have, so that two trees never give the same text. */
class TreeDigest {
  readonly #hash = createHash("sha256").update("keelson tree 1\0");
  #text = "";

  add(entry: TreeEntry): void {
    switch (entry.kind) {
      case "file":
        this.#text += `f\0${entry.mode}\0${entry.digest}\0${entry.path}\0`;
        break;
      case "directory":
        this.#text += `d\0${entry.mode}\0\0${entry.path}\0`;
        break;
      case "symlink":
        this.#text += `l\0\0${entry.target}\0${entry.path}\0`;
        break;
    }
    if (this.#text.length > 65_536) {
      this.#hash.update(this.#text);
      this.#text = "";
    }
  }

  end(): string {
    return this.#hash.update(this.#text).digest("hex");
  }
}

export const EMPTY_TREE: Tree = buildTree([]);

/** The index of the path's entry, or where it would be inserted as `-1 - place`. */
export function indexOf(tree: Tree, path: string): number {
  let low = 0;
  let high = tree.entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = comparePaths((tree.entries[middle] as TreeEntry).path, path);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1 - low;
}

/** Null when there is none. Nothing is looked for behind a symbolic link. */
export function findEntry(tree: Tree, path: string): TreeEntry | null {
  const index = indexOf(tree, path);
  return index < 0 ? null : (tree.entries[index] as TreeEntry);
}

/**
 * The direct children of a directory in the order of their names' bytes, from the first whose name comes after `after`.
 *
 * @param path of a directory of the tree; empty for the root.
 * @throws TreeError `wrong_kind` when the path is of no directory.
 */
export function childrenOf(tree: Tree, path: string, after: string | null, limit: number): TreeEntry[] {
  let index = 0;
  let end = tree.entries.length;
  if (path !== "") {
    const parent = indexOf(tree, path);
    if (tree.entries[parent]?.kind !== "directory")
      throw new TreeError("wrong_kind", `${JSON.stringify(path)} is not a directory.`, { path });
    index = parent + 1;
    end = tree.ends[parent] as number;
  }
  if (after !== null) {
    const found = indexOf(tree, path === "" ? after : `${path}/${after}`);
    index = found < 0 ? -1 - found : (tree.ends[found] as number);
  }
  const children: TreeEntry[] = [];
  while (index < end && children.length < limit) {
    children.push(tree.entries[index] as TreeEntry);
    index = tree.ends[index] as number;
  }
  return children;
}
