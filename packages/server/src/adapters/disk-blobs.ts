import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Blob, BlobStore } from "../core/blobs/blob.ts";
import { DomainError } from "../domain-error.ts";
import { damaged, overLimit, requireDigest, wrongDigest } from "./blob-refusals.ts";

const UPLOADS = "uploads";
/** Nothing is uploaded for a day: such a file was left by a process that was killed. */
const ABANDONED_AFTER_MS = 24 * 3_600_000;
const READ_BYTES = 256 * 1024;

/**
 * Blobs in a folder: `ab/cd…` for the digest `abcd…`, and `uploads/` for what is not yet whole. A blob is written beside
 * its place, synced and renamed into it, so that a crash at any moment leaves it whole or absent. Several processes may
 * share the folder.
 */
export function createDiskBlobs(dir: string): BlobStore {
  const uploads = path.join(dir, UPLOADS);
  let tidied = false;
  return {
    put: async (digest, bytes, maxBytes) => {
      const place = placeOf(dir, digest);
      const upload = path.join(uploads, `${digest}-${randomBytes(8).toString("hex")}`);
      try {
        await mkdir(uploads, { recursive: true, mode: 0o700 });
        const sizeBytes = await writeVerified(upload, digest, bytes, maxBytes);
        if (!tidied) {
          tidied = true;
          await removeAbandoned(uploads, upload);
        }
        await mkdir(path.dirname(place), { recursive: true, mode: 0o700 });
        // Over an equal file this changes nothing; over a damaged one it mends it.
        await rename(upload, place);
        await syncFolder(path.dirname(place));
        await syncFolder(dir);
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
    "unavailable",
    "The disk of the server's blob store is full. Free space there, then try again.",
    { disk_full: true },
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
    for await (const chunk of bytes) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) throw overLimit(maxBytes);
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    const found = hash.digest("hex");
    if (found !== digest) throw wrongDigest(found, digest);
    await handle.sync();
    return sizeBytes;
  } finally {
    await handle.close();
  }
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

/** A rename is durable once the folder that names the file is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The age of a file is told by the file that was just written: both times are the file system's. */
async function removeAbandoned(uploads: string, newest: string): Promise<void> {
  const { mtimeMs: now } = await stat(newest);
  for (const name of await readdir(uploads)) {
    const file = path.join(uploads, name);
    const found = await statOrNull(file);
    if (found !== null && now - found.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true });
  }
}

const statOrNull = (file: string): Promise<{ mtimeMs: number } | null> => stat(file).catch(nullWhenAbsent);

function nullWhenAbsent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}
