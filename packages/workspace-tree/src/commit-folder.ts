import { createHash, hash } from "node:crypto";
import { closeSync, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
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
  type ListedName,
  type OpenFolder,
  type RawName,
} from "./folder.ts";
import { encodeManifest, type EncodedManifest } from "./manifest.ts";
import { createPackWriter, type PackWriter } from "./pack-writer.ts";
import { nameProblem, TREE_LIMITS } from "./path.ts";
import { PIECE_BYTES, type BlobSink } from "./piece.ts";
import { FILE_RIGHTS, FOLDER_RIGHTS, takeRights } from "./rights.ts";
import { cachedStat, isUnchanged, RACY_MS, type StatCache } from "./stat-cache.ts";
import { buildTree, toModifiedAt, type Extent, type FileEntry, type Tree, type TreeEntry } from "./tree.ts";

export type SkippedFile = { readonly path: string; readonly kind: "socket" | "pipe" | "device" };

/** Why a file, folder or link of the folder is not in the tree. */
export type LeftOut = {
  readonly path: string;
  readonly reason: "path_too_long" | "too_many_entries" | "unreadable" | "name";
};

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
  /** Paths under which the tree has what has a name or link target that is not UTF-8. */
  readonly renamed: readonly string[];
  /** What is in no tree though it has content; with a folder everything in it. The first ones, and how many in all. */
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount: number;
  /** Of new pieces, as stored. */
  readonly storedBytes: number;
};

/** Others have their turn after this many entries. */
const ENTRIES_PER_TURN = 256;
/** A file that changes while it is read is read again; one that never rests is taken as it was read. */
const MAX_READS = 3;
/** Of what is left out so many are named. */
const NAMED = 100;

type Walk = {
  readonly options: CommitFolderOptions;
  readonly contents: Map<string, readonly Extent[]>;
  readonly packs: PackWriter;
  readonly entries: Pending[];
  readonly stats: (Stats | null)[];
  readonly skipped: SkippedFile[];
  readonly renamed: string[];
  readonly leftOut: LeftOut[];
  leftOutCount: number;
  seen: number;
};

/** A file's extents are filled in when its piece is sealed. */
type Pending = TreeEntry & { extents?: readonly Extent[]; parts?: readonly (readonly Extent[])[] };

/**
 * Makes a tree of a folder: stores what the base does not have, and the manifest. A folder that did not change costs a
 * look at each of its files. Links are kept as text; sockets, pipes and devices are left out and named.
 *
 * What a tree cannot have is left out and named: it never fails the rest. A name that is not UTF-8 is escaped.
 */
export async function commitFolder(root: string, options: CommitFolderOptions): Promise<CommittedFolder> {
  const walk = startWalk(options);
  const giveBack = takeRights(root, lstatSync(root), FOLDER_RIGHTS);
  try {
    const folder = openRoot(root);
    try {
      await walkFolder(walk, folder, "");
    } finally {
      closeFolder(folder);
    }
  } finally {
    giveBack?.();
  }
  await walk.packs.seal();
  const entries = walk.entries.map(settle);
  const cache: StatCache = new Map();
  for (const [index, entry] of entries.entries()) {
    const stat = walk.stats[index];
    if (stat !== null && stat !== undefined) cache.set(entry.path, cachedStat(stat, entry));
  }
  const tree = buildTree(entries);
  const { skipped, renamed, leftOut, leftOutCount } = walk;
  const found = { cache, skipped, renamed, leftOut, leftOutCount };
  // A base that has lost pieces is stored again even when the files are the same.
  const isNew = tree.digest !== options.base.digest || (options.lostBlobs?.size ?? 0) > 0;
  if (!isNew) {
    // Contents that are under another name in the base are in another piece maybe, which is under way.
    await walk.packs.finish();
    return { ...found, changed: false, tree: options.base, manifest: null, storedBytes: 0 };
  }
  const manifest = await encodeManifest(tree);
  // Beside the pieces: nothing refers to a manifest before its commit, which needs them all.
  await Promise.all([walk.packs.finish(), options.sink.put(manifest.digest, manifest.bytes)]);
  return { ...found, changed: true, tree, manifest, storedBytes: walk.packs.storedBytes() };
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
  const found = { entries: [], stats: [], skipped: [], renamed: [], leftOut: [], leftOutCount: 0 };
  return { options, contents, packs, ...found, seen: 0 };
}

function settle(pending: Pending): TreeEntry {
  const { parts, ...entry } = pending;
  return parts === undefined ? entry : ({ ...entry, extents: parts.flat() } as FileEntry);
}

async function walkFolder(walk: Walk, folder: OpenFolder, path: string): Promise<void> {
  for (const listed of namesIn(folder)) {
    const child = path === "" ? listed.text : `${path}/${listed.text}`;
    if ((walk.seen += 1) % ENTRIES_PER_TURN === 0) await turn();
    walk.options.signal?.throwIfAborted();
    try {
      await addEntry(walk, folder, listed, child);
    } catch (error) {
      // What was replaced or removed since the folder was listed is as good as removed before.
      if (isForbidden(error)) leaveOut(walk, child, "unreadable");
      else if (!isGone(error)) throw error;
    }
  }
}

async function addEntry(
  walk: Walk,
  folder: OpenFolder,
  { name, text }: ListedName,
  path: string,
): Promise<void> {
  const stat = statOf(folder, name);
  if (stat === null) return;
  const kind = specialKind(stat);
  if (kind !== null) return void walk.skipped.push({ path, kind });
  const reason = unfit(walk, text, path);
  if (reason !== null) return leaveOut(walk, path, reason);
  const before = walk.entries.length;
  if (stat.isDirectory()) await addFolder(walk, folder, name, path, stat);
  else if (stat.isFile()) await addFile(walk, folder, name, path, stat);
  else addLink(walk, folder, name, path, stat);
  if (typeof name !== "string" && walk.entries.length > before) walk.renamed.push(path);
}

const specialKind = (stat: Stats): SkippedFile["kind"] | null =>
  stat.isDirectory() || stat.isFile() || stat.isSymbolicLink()
    ? null
    : stat.isSocket()
      ? "socket"
      : stat.isFIFO()
        ? "pipe"
        : "device";

/** Why a tree cannot have it; null when it can. */
function unfit(walk: Walk, name: string, path: string): LeftOut["reason"] | null {
  if (nameProblem(name) !== null) return "name";
  if (path.length * 3 > TREE_LIMITS.pathBytes && Buffer.byteLength(path) > TREE_LIMITS.pathBytes)
    return "path_too_long";
  return walk.entries.length >= TREE_LIMITS.entries ? "too_many_entries" : null;
}

function leaveOut(walk: Walk, path: string, reason: LeftOut["reason"]): void {
  walk.leftOutCount += 1;
  if (walk.leftOut.length < NAMED) walk.leftOut.push({ path, reason });
}

const isGone = (error: unknown): boolean => hasCode(error, "ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EINVAL");

const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));

const isForbidden = (error: unknown): boolean => hasCode(error, "EACCES", "EPERM");

async function addFolder(
  walk: Walk,
  parent: OpenFolder,
  name: RawName,
  path: string,
  seen: Stats,
): Promise<void> {
  const giveBack = takeRights(placeOf(parent, name), seen, FOLDER_RIGHTS);
  try {
    const folder = openChild(parent, name);
    try {
      const stat = fstatSync(folder.fd);
      const mode = (giveBack === null ? stat.mode : seen.mode) & 0o777;
      walk.entries.push({ kind: "directory", path, mode, modifiedAt: toModifiedAt(stat.mtimeMs) });
      walk.stats.push(null);
      await walkFolder(walk, folder, path);
    } finally {
      closeFolder(folder);
    }
  } finally {
    giveBack?.();
  }
}

function addLink(walk: Walk, folder: OpenFolder, name: RawName, path: string, stat: Stats): void {
  const { target, isEscaped } = targetOf(folder, name);
  if (Buffer.byteLength(target) > TREE_LIMITS.targetBytes) return leaveOut(walk, path, "path_too_long");
  if (isEscaped && typeof name === "string") walk.renamed.push(path);
  walk.entries.push({ kind: "symlink", path, target, modifiedAt: toModifiedAt(stat.mtimeMs) });
  walk.stats.push(null);
}

async function addFile(
  walk: Walk,
  folder: OpenFolder,
  name: RawName,
  path: string,
  stat: Stats,
): Promise<void> {
  const cached = walk.options.cache.get(path);
  if (cached?.entry.kind === "file" && isUnchanged(cached, stat) && isKept(walk, cached.entry)) {
    walk.entries.push(cached.entry);
    walk.stats.push(stat);
    return;
  }
  const place = placeOf(folder, name);
  const giveBack = takeRights(place, stat, FILE_RIGHTS);
  let fd: number;
  try {
    fd = openSync(place, FILE_FLAGS);
  } finally {
    giveBack?.();
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
