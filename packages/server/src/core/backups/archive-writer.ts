import { createHash } from "node:crypto";
import { open, rename, rm, stat, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { BackupError, MANIFEST_DIGEST_NAME, MANIFEST_NAME, type BackupPart } from "./backup.ts";
import { BLOCK_BYTES, paddedBytes, writeTarHeader } from "./tar-header.ts";

/** Writes one archive: whole under its name, or not at all. */
export type ArchiveWriter = {
  readonly parts: readonly BackupPart[];
  /** Compresses the bytes and adds them. */
  add(name: string, raw: Uint8Array): Promise<void>;
  /** Adds the manifest, and puts the archive under its name when all of it is on the disk. @returns its size in bytes. */
  finish(manifest: string): Promise<number>;
  /** Removes what was written; harmless after `finish`. */
  discard(): Promise<void>;
};

const compress = promisify(zstdCompress);
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

/** @throws BackupError when a file of that name is there. */
export async function createArchive(file: string, now: number): Promise<ArchiveWriter> {
  if (await isThere(file)) throw new BackupError(`${file} is there already; name another file.`);
  const temporary = `${file}.${process.pid}.partial`;
  const handle = await open(temporary, "wx", 0o600);
  const parts: BackupPart[] = [];
  let written = 0;
  const write = async (bytes: Uint8Array): Promise<void> => {
    await handle.writeFile(bytes);
    written += bytes.byteLength;
  };
  const addFile = async (name: string, bytes: Uint8Array): Promise<void> => {
    const sizeBytes = bytes.byteLength;
    await write(writeTarHeader({ name, sizeBytes }, now));
    await write(bytes);
    await write(Buffer.alloc(paddedBytes(sizeBytes) - sizeBytes));
  };
  return {
    parts,
    add: async (name, raw) => {
      const bytes = await compress(raw, LEVEL);
      await addFile(name, bytes);
      parts.push({ name, size_bytes: bytes.length, raw_bytes: raw.byteLength, sha256: digestOf(bytes) });
    },
    finish: async (manifest) => {
      const bytes = Buffer.from(manifest);
      await addFile(MANIFEST_NAME, bytes);
      await addFile(MANIFEST_DIGEST_NAME, Buffer.from(`${digestOf(bytes)}  ${MANIFEST_NAME}\n`));
      await write(Buffer.alloc(2 * BLOCK_BYTES));
      await handle.sync();
      await handle.close();
      await rename(temporary, file);
      await syncFolder(path.dirname(file));
      return written;
    },
    discard: () => discard(handle, temporary),
  };
}

async function discard(handle: FileHandle, temporary: string): Promise<void> {
  // Closed already when it was finished.
  if (handle.fd !== -1) await handle.close();
  await rm(temporary, { force: true });
}

export const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );

/** A new name is durable once the folder that has it is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
