import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
} from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { closeFolder, openChild, openRoot, placeOf, type OpenFolder } from "./folder.ts";
import { fetchPiece, type BlobSource } from "./piece.ts";
import { checkDigest, cut } from "./read-content.ts";
import { writeSparse } from "./write-sparse.ts";
import { cachedStat, RACY_MS, type CachedStat, type StatCache } from "./stat-cache.ts";
import {
  nameOf,
  parentOf,
  type DirectoryEntry,
  type FileEntry,
  type SymlinkEntry,
  type Tree,
} from "./tree.ts";

export type WriteFolderOptions = {
  readonly source: BlobSource;
  /** Who is to own what is written. Default: whoever runs this. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  readonly signal?: AbortSignal;
};

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const ENTRIES_PER_TURN = 256;
/** Pieces that are kept for the next files: files of one piece are near each other. */
const HELD_PIECES = 4;

/**
 * Writes a tree into an empty folder: contents, modes, times, links as they are. Each content is checked before it is
 * written. Nothing is written over or through anything that is there.
 *
 * @returns the stat cache for the first commit of the folder; nobody may write into it before this resolves. What was written
 * last is not in it: a change right after this may give such a file no other time.
 * @throws TreeError `missing_blob`, `damaged`; an error with code `EEXIST` when the folder is not empty.
 */
export async function writeFolder(root: string, tree: Tree, options: WriteFolderOptions): Promise<StatCache> {
  const pieces = createPieceReader(tree, options.source);
  const written = createWrittenFiles();
  const open = [{ path: "", folder: openRoot(root), entry: null as DirectoryEntry | null }];
  const close = (): void => {
    const { folder, entry } = open.pop() as (typeof open)[number];
    // After what is in it is written: a folder may be read-only, and writing into it changes its time.
    if (entry !== null) {
      fchmodSync(folder.fd, entry.mode);
      futimesSync(folder.fd, entry.modifiedAt / 1000, entry.modifiedAt / 1000);
    }
    closeFolder(folder);
  };
  try {
    for (const [index, entry] of tree.entries.entries()) {
      if (index % ENTRIES_PER_TURN === 0) await turn();
      options.signal?.throwIfAborted();
      while (open.at(-1)?.path !== parentOf(entry.path)) close();
      const { folder } = open.at(-1) as (typeof open)[number];
      switch (entry.kind) {
        case "directory":
          open.push({ path: entry.path, folder: makeFolder(folder, entry, options), entry });
          break;
        case "symlink":
          writeLink(folder, entry, options);
          break;
        case "file":
          await writeFile(folder, entry, pieces, options, written);
          break;
      }
    }
    while (open.length > 0) close();
  } finally {
    for (const { folder } of open) closeFolder(folder);
  }
  return written.toCache();
}

type WrittenFiles = { add(path: string, stat: CachedStat): void; toCache(): StatCache };

function createWrittenFiles(): WrittenFiles {
  const cache: StatCache = new Map();
  /** The latest, in order. */
  const latest: { path: string; at: number }[] = [];
  return {
    add: (path, stat) => {
      const at = performance.now();
      cache.set(path, stat);
      latest.push({ path, at });
      while (latest.length > 0 && (latest[0] as (typeof latest)[number]).at < at - RACY_MS) latest.shift();
    },
    toCache: () => {
      const since = performance.now() - RACY_MS;
      for (const { path, at } of latest) if (at >= since) cache.delete(path);
      return cache;
    },
  };
}

function makeFolder(parent: OpenFolder, entry: DirectoryEntry, { owner }: WriteFolderOptions): OpenFolder {
  const name = nameOf(entry.path);
  mkdirSync(placeOf(parent, name), 0o700);
  const folder = openChild(parent, name);
  if (owner !== undefined) fchownSync(folder.fd, owner.uid, owner.gid);
  return folder;
}

function writeLink(folder: OpenFolder, entry: SymlinkEntry, { owner }: WriteFolderOptions): void {
  const place = placeOf(folder, nameOf(entry.path));
  symlinkSync(entry.target, place);
  lutimesSync(place, entry.modifiedAt / 1000, entry.modifiedAt / 1000);
  if (owner !== undefined) lchownSync(place, owner.uid, owner.gid);
}

async function writeFile(
  folder: OpenFolder,
  entry: FileEntry,
  pieces: PieceReader,
  { owner }: WriteFolderOptions,
  written: WrittenFiles,
): Promise<void> {
  const fd = openSync(placeOf(folder, nameOf(entry.path)), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const whole = createHash("sha256");
    let position = 0;
    for (const { blob, offset, length } of entry.extents) {
      const bytes = cut(await pieces.get(blob), blob, offset, length);
      whole.update(bytes);
      // Of one piece the digest is known before anything is written.
      if (entry.extents.length === 1) checkDigest(entry, whole.copy().digest("hex"));
      writeSparse(fd, bytes, position);
      position += length;
      // A piece that is there already, as the one of a hole is again and again, is not waited for.
      if (position < entry.size) await turn();
    }
    checkDigest(entry, whole.digest("hex"));
    // A hole at its end was not written.
    ftruncateSync(fd, entry.size);
    if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, entry.mode);
    futimesSync(fd, entry.modifiedAt / 1000, entry.modifiedAt / 1000);
    written.add(entry.path, cachedStat(fstatSync(fd), entry));
  } finally {
    closeSync(fd);
  }
}

type PieceReader = { get(digest: string): Promise<Buffer> };

/** Fetches each piece once while it is near, and the next ones ahead. */
function createPieceReader(tree: Tree, source: BlobSource): PieceReader {
  const order = [
    ...new Set(
      tree.entries.flatMap((entry) => (entry.kind === "file" ? entry.extents.map(({ blob }) => blob) : [])),
    ),
  ];
  const placeIn = new Map(order.map((digest, index) => [digest, index]));
  const held = new Map<string, Promise<Buffer>>();
  const fetch = (digest: string): Promise<Buffer> => {
    const piece = held.get(digest) ?? fetchPiece(source, digest);
    // Again the newest.
    held.delete(digest);
    held.set(digest, piece);
    // A piece that was fetched ahead may fail before anybody waits for it; whoever does is told.
    piece.catch(() => undefined);
    return piece;
  };
  return {
    get: (digest) => {
      const at = placeIn.get(digest) ?? 0;
      for (const ahead of order.slice(at + 1, at + HELD_PIECES)) if (!held.has(ahead)) void fetch(ahead);
      const piece = fetch(digest);
      for (const [oldest] of held) {
        if (held.size <= HELD_PIECES * 2) break;
        held.delete(oldest);
      }
      return piece;
    },
  };
}
