import { createHash, hash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import {
  closeFolder,
  FILE_FLAGS,
  namesIn,
  openChild,
  openRoot,
  placeOf,
  statOf,
  targetOf,
  type OpenFolder,
} from "./folder.ts";
import { encodeManifest, type EncodedManifest } from "./manifest.ts";
import { createPackWriter, type PackWriter } from "./pack-writer.ts";
import { nameProblem, TREE_LIMITS } from "./path.ts";
import { PIECE_BYTES, type BlobSink } from "./piece.ts";
import { cachedStat, isUnchanged, RACY_MS, type StatCache } from "./stat-cache.ts";
import { buildTree, toModifiedAt, type Extent, type FileEntry, type Tree, type TreeEntry } from "./tree.ts";
import { TreeError } from "./tree-error.ts";

export type SkippedFile = { readonly path: string; readonly kind: "socket" | "pipe" | "device" };

export type CommitFolderOptions = {
  /** The tree that was last committed or written out: contents that are in it are not stored again. */
  readonly base: Tree;
  /** Of the last commit or write of this folder; empty to read everything. */
  readonly cache: StatCache;
  readonly sink: BlobSink;
  /** The machine's time in milliseconds, at the call. */
  readonly now: number;
  /** Pieces of the base that are not to be relied on, because they are not there any more. */
  readonly lostBlobs?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
};

export type CommittedFolder = {
  /** False when the folder is as the base: there is nothing to commit, and nothing was stored. */
  readonly changed: boolean;
  readonly tree: Tree;
  /** Of the tree, stored; null when nothing changed. */
  readonly manifest: EncodedManifest | null;
  readonly cache: StatCache;
  /** What is in the folder and in no tree. */
  readonly skipped: readonly SkippedFile[];
  /** Of new pieces, as stored. */
  readonly storedBytes: number;
};

/** Others have their turn after this many entries. */
const ENTRIES_PER_TURN = 256;
/** A file that changes while it is read is read again; one that never rests is taken as it was read. */
const MAX_READS = 3;

type Walk = {
  readonly options: CommitFolderOptions;
  readonly contents: Map<string, readonly Extent[]>;
  readonly packs: PackWriter;
  readonly entries: Pending[];
  readonly stats: (Stats | null)[];
  readonly skipped: SkippedFile[];
  seen: number;
};

/** A file's extents are filled in when its piece is sealed. */
type Pending = TreeEntry & { extents?: readonly Extent[]; parts?: readonly (readonly Extent[])[] };

/**
 * Makes a tree of a folder: stores what the base does not have, then the manifest. A folder that did not change costs a
 * look at each of its files. Links are kept as text; sockets, pipes and devices are left out and named.
 *
 * @throws TreeError `unstorable` for a name or link target that is not UTF-8, `too_large`.
 */
export async function commitFolder(root: string, options: CommitFolderOptions): Promise<CommittedFolder> {
  const walk = startWalk(options);
  const folder = openRoot(root);
  try {
    await walkFolder(walk, folder, "");
  } finally {
    closeFolder(folder);
  }
  await walk.packs.finish();
  const entries = walk.entries.map(settle);
  const cache: StatCache = new Map();
  for (const [index, entry] of entries.entries()) {
    const stat = walk.stats[index];
    if (stat !== null && stat !== undefined) cache.set(entry.path, cachedStat(stat, entry));
  }
  const tree = buildTree(entries);
  const { skipped } = walk;
  // A base that has lost pieces is stored anew even when the files are the same.
  const isNew = tree.digest !== options.base.digest || (options.lostBlobs?.size ?? 0) > 0;
  if (!isNew) return { changed: false, tree: options.base, manifest: null, cache, skipped, storedBytes: 0 };
  const manifest = await encodeManifest(tree);
  await options.sink.put(manifest.digest, manifest.bytes);
  return { changed: true, tree, manifest, cache, skipped, storedBytes: walk.packs.storedBytes() };
}

function startWalk(options: CommitFolderOptions): Walk {
  const { base, lostBlobs, sink } = options;
  const contents = new Map<string, readonly Extent[]>();
  const known = new Set<string>();
  for (const entry of base.entries) {
    if (entry.kind !== "file" || entry.extents.some(({ blob }) => lostBlobs?.has(blob))) continue;
    contents.set(entry.digest, entry.extents);
    for (const { blob } of entry.extents) known.add(blob);
  }
  const packs = createPackWriter(sink, known);
  return { options, contents, packs, entries: [], stats: [], skipped: [], seen: 0 };
}

function settle(pending: Pending): TreeEntry {
  const { parts, ...entry } = pending;
  return parts === undefined ? entry : ({ ...entry, extents: parts.flat() } as FileEntry);
}

async function walkFolder(walk: Walk, folder: OpenFolder, path: string): Promise<void> {
  for (const name of namesIn(folder, path)) {
    const child = path === "" ? name : `${path}/${name}`;
    checkStorable(name, child);
    if ((walk.seen += 1) % ENTRIES_PER_TURN === 0) await turn();
    if (walk.seen > TREE_LIMITS.entries)
      throw new TreeError(
        "too_large",
        `The folder has more than ${TREE_LIMITS.entries} entries; remove some.`,
      );
    walk.options.signal?.throwIfAborted();
    const stat = statOf(folder, name);
    // Removed since the folder was listed: as good as removed before.
    if (stat === null) continue;
    if (stat.isDirectory()) await addFolder(walk, folder, name, child);
    else if (stat.isFile()) await addFile(walk, folder, name, child, stat);
    else if (stat.isSymbolicLink()) addLink(walk, folder, name, child, stat);
    else
      walk.skipped.push({
        path: child,
        kind: stat.isSocket() ? "socket" : stat.isFIFO() ? "pipe" : "device",
      });
  }
}

function checkStorable(name: string, path: string): void {
  const problem = nameProblem(name);
  if (problem !== null)
    throw new TreeError("unstorable", `${JSON.stringify(path.slice(0, 200))} ${problem}; rename it.`, {
      path,
    });
  if (path.length * 3 > TREE_LIMITS.pathBytes && Buffer.byteLength(path) > TREE_LIMITS.pathBytes)
    throw new TreeError(
      "unstorable",
      `A path has more than ${TREE_LIMITS.pathBytes} bytes: ${path.slice(0, 200)}…`,
      {
        path,
      },
    );
}

const isGone = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes(String(error.code));

function unreadable(error: unknown, path: string): unknown {
  if (!(error instanceof Error && "code" in error && error.code === "EACCES")) return error;
  return new TreeError(
    "unstorable",
    `${JSON.stringify(path)} may not be read; give its owner permission to, then commit again.`,
    { path },
    { cause: error },
  );
}

async function addFolder(walk: Walk, parent: OpenFolder, name: string, path: string): Promise<void> {
  let folder: OpenFolder;
  try {
    folder = openChild(parent, name);
  } catch (error) {
    // Replaced or removed since it was looked at.
    if (isGone(error)) return;
    throw unreadable(error, path);
  }
  try {
    const stat = fstatSync(folder.fd);
    walk.entries.push({
      kind: "directory",
      path,
      mode: stat.mode & 0o777,
      modifiedAt: toModifiedAt(stat.mtimeMs),
    });
    walk.stats.push(null);
    await walkFolder(walk, folder, path);
  } finally {
    closeFolder(folder);
  }
}

function addLink(walk: Walk, folder: OpenFolder, name: string, path: string, stat: Stats): void {
  try {
    const target = targetOf(folder, name, path);
    walk.entries.push({ kind: "symlink", path, target, modifiedAt: toModifiedAt(stat.mtimeMs) });
    walk.stats.push(null);
  } catch (error) {
    if (!isGone(error) && !(error instanceof Error && "code" in error && error.code === "EINVAL"))
      throw error;
  }
}

async function addFile(
  walk: Walk,
  folder: OpenFolder,
  name: string,
  path: string,
  stat: Stats,
): Promise<void> {
  const cached = walk.options.cache.get(path);
  if (cached?.entry.kind === "file" && isUnchanged(cached, stat) && isKept(walk, cached.entry)) {
    walk.entries.push(cached.entry);
    walk.stats.push(stat);
    return;
  }
  let fd: number;
  try {
    fd = openSync(placeOf(folder, name), FILE_FLAGS);
  } catch (error) {
    if (isGone(error)) return;
    throw unreadable(error, path);
  }
  try {
    await readFile(walk, fd, path);
  } finally {
    closeSync(fd);
  }
}

const isKept = ({ options: { lostBlobs } }: Walk, { extents }: FileEntry): boolean =>
  lostBlobs === undefined || !extents.some(({ blob }) => lostBlobs.has(blob));

async function readFile(walk: Walk, fd: number, path: string): Promise<void> {
  for (let reads = 1; ; reads += 1) {
    const before = fstatSync(fd);
    if (!before.isFile()) return;
    const read =
      before.size <= PIECE_BYTES ? await readSmall(walk, fd, before.size) : await readLarge(walk, fd);
    const after = fstatSync(fd);
    const rested =
      read.size === after.size && before.mtimeMs === after.mtimeMs && before.ctimeMs === after.ctimeMs;
    if (!rested && reads < MAX_READS) continue;
    const { size, digest, parts } = read;
    const mode = after.mode & 0o777;
    const modifiedAt = toModifiedAt(after.mtimeMs);
    walk.entries.push({ kind: "file", path, mode, modifiedAt, size, digest, extents: [], parts });
    walk.stats.push(rested && after.ctimeMs < walk.options.now - RACY_MS ? after : null);
    return;
  }
}

type Read = { size: number; digest: string; parts: readonly (readonly Extent[])[] };

async function readSmall({ packs, contents }: Walk, fd: number, size: number): Promise<Read> {
  const room = await packs.room(size);
  const length = readFully(fd, room, 0);
  const digest = hash("sha256", room.subarray(0, length));
  let extents = contents.get(digest);
  // Equal files are stored once. The list of a file in the same piece is filled together with its first.
  if (extents === undefined) contents.set(digest, (extents = packs.keep(length)));
  return { size: length, digest, parts: [extents] };
}

async function readLarge({ packs, contents }: Walk, fd: number): Promise<Read> {
  const whole = createHash("sha256");
  const parts: Extent[][] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const length = readFully(fd, chunk, size);
    if (length === 0) break;
    whole.update(chunk.subarray(0, length));
    size += length;
    parts.push(await packs.addPiece(chunk.subarray(0, length)));
    await turn();
    if (length < PIECE_BYTES) break;
  }
  const digest = whole.digest("hex");
  const known = contents.get(digest);
  return { size, digest, parts: known === undefined ? parts : [known] };
}

/** Reads from the position until the buffer is full or the file ends. */
function readFully(fd: number, buffer: Buffer, position: number): number {
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(fd, buffer, length, buffer.length - length, position + length);
    if (count === 0) break;
    length += count;
  }
  return length;
}
