import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Blob, BlobStore } from "../core/blobs/blob.ts";
import { DomainError } from "../domain-error.ts";
import { damaged, overLimit, requireDigest, wrongDigest } from "./blob-refusals.ts";

const UPLOADS = "uploads";
/** Nothing is uploaded for a day: such a file was left by a process that was killed. */
const ABANDONED_AFTER_MS = 24 * 3_600_000;
const TIDIED_EVERY_MS = 3_600_000;
const READ_BYTES = 256 * 1024;
/** Bytes come from a socket in parts of at most 64 KiB: each of them written alone is a turn of a thread. */
const WRITE_BYTES = 512 * 1024;
/** Memory for writing that is kept for the next upload. */
const KEPT_BLOCKS = 16;

/**
 * Blobs in a folder: `ab/cd…` for the digest `abcd…`, and `uploads/` for what is not yet whole. A blob is written beside
 * its place, synced and renamed into it, so that a crash at any moment leaves it whole or absent. Several processes may
 * share the folder, but a process has one store for it, which remembers what was done to the folder.
 */
export function createDiskBlobs(dir: string): BlobStore {
  const uploads = path.join(dir, UPLOADS);
  const keep = folderKeeper();
  const tidy = uploadsTidier(uploads);
  return {
    put: async (digest, bytes, maxBytes) => {
      const place = placeOf(dir, digest);
      const upload = path.join(uploads, `${digest}-${randomBytes(8).toString("hex")}`);
      try {
        await keep(uploads);
        const sizeBytes = await writeVerified(upload, digest, bytes, maxBytes);
        await tidy(upload);
        await keep(path.dirname(place));
        // Over an equal file this changes nothing; over a damaged one it mends it.
        await rename(upload, place);
        await syncFolder(path.dirname(place));
        return sizeBytes;
      } catch (error) {
        await rm(upload, { force: true });
        throw isDiskFull(error) ? diskFull(error) : error;
      }
    },
    has: async (digest) => (await statOrNull(placeOf(dir, digest))) !== null,
    read: (digest) => readVerified(placeOf(dir, digest), digest),
    load: (digest) => readFile(placeOf(dir, digest)).catch(nullWhenAbsent),
    remove: (digest) => rm(placeOf(dir, digest), { force: true }),
  };
}

/** The disk, a quota, or the limit of the process. */
const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT", "EFBIG"].includes(String(error.code));

const diskFull = (cause: unknown): DomainError =>
  new DomainError(
    "storage_full",
    "The disk of the server's blob store is full; nothing was written. Free space there, then try again.",
    { store: "blobs" },
    { cause },
  );

function placeOf(dir: string, digest: string): string {
  requireDigest(digest);
  return path.join(dir, digest.slice(0, 2), digest.slice(2));
}

/** Writes and syncs the file; refuses bytes of another digest. */
async function writeVerified(
  file: string,
  digest: string,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<number> {
  const handle = await open(file, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    let sizeBytes = 0;
    await inBlocks(bytes, async (block) => {
      sizeBytes += block.byteLength;
      if (sizeBytes > maxBytes) throw overLimit(maxBytes);
      hash.update(block);
      await handle.writeFile(block);
    });
    const found = hash.digest("hex");
    if (found !== digest) throw wrongDigest(found, digest);
    await handle.sync();
    return sizeBytes;
  } finally {
    await handle.close();
  }
}

/** Of uploads that have ended. What every upload allocated would have to be collected again. */
const freeBlocks: Buffer[] = [];

/** Calls it with full blocks and a last one, each of which is valid until the call has ended. */
async function inBlocks(
  bytes: AsyncIterable<Uint8Array>,
  write: (block: Uint8Array) => Promise<void>,
): Promise<void> {
  const block = freeBlocks.pop() ?? Buffer.allocUnsafeSlow(WRITE_BYTES);
  let used = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.byteLength;) {
      const part = chunk.subarray(at, at + WRITE_BYTES - used);
      block.set(part, used);
      used += part.byteLength;
      at += part.byteLength;
      if (used < WRITE_BYTES) continue;
      await write(block);
      used = 0;
    }
  }
  if (used > 0) await write(block.subarray(0, used));
  // Not after a failure: a thread may still read it.
  if (freeBlocks.length < KEPT_BLOCKS) freeBlocks.push(block);
}

/**
 * The file is read twice: once to check it, once to give it out. A check while giving out would find damage only after
 * the damaged bytes have left; the second read comes from the page cache.
 */
async function readVerified(place: string, digest: string): Promise<Blob | null> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    for await (const chunk of chunksOf(place)) {
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
    }
  } catch (error) {
    return nullWhenAbsent(error);
  }
  const found = hash.digest("hex");
  if (found !== digest) throw damaged(digest, found);
  return { sizeBytes, bytes: chunksOf(place) };
}

/** Opened when the first chunk is asked for, so a reader that never begins holds nothing open. */
async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file, "r");
  try {
    for (let position = 0; ;) {
      const { bytesRead, buffer } = await handle.read(
        Buffer.allocUnsafe(READ_BYTES),
        0,
        READ_BYTES,
        position,
      );
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder durably, with those around it. What is there already is synced once as well: another process may have made it
 * and not lived to sync it.
 */
function folderKeeper(): (folder: string) => Promise<void> {
  const kept = new Set<string>();
  return async (folder) => {
    const made = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (made === undefined && kept.has(folder)) return;
    const top = path.dirname(made ?? folder);
    for (let inner = folder; inner !== top; inner = path.dirname(inner))
      await syncFolder(path.dirname(inner));
    kept.add(folder);
  };
}

/** A rename is durable once the folder that names the file is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Looks for abandoned uploads now and then. The file that was just written tells the time, so that all times are the file
 * system's.
 */
function uploadsTidier(uploads: string): (newest: string) => Promise<void> {
  let tidiedAt = Number.NEGATIVE_INFINITY;
  return async (newest) => {
    const { mtimeMs: now } = await stat(newest);
    if (now - tidiedAt < TIDIED_EVERY_MS) return;
    tidiedAt = now;
    for (const name of await readdir(uploads)) {
      const file = path.join(uploads, name);
      const found = await statOrNull(file);
      if (found !== null && now - found.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true });
    }
  };
}

const statOrNull = (file: string): Promise<{ mtimeMs: number } | null> => stat(file).catch(nullWhenAbsent);

function nullWhenAbsent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}
