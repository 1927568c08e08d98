import { createHash } from "node:crypto";
import { open, rename, rm, stat, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { pack, type Pack } from "tar-stream";
import { BackupError, MANIFEST_DIGEST_NAME, MANIFEST_NAME, type BackupPart } from "./backup.ts";

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

/** @throws BackupError when a file of that name is there, or the folder is not. */
export async function createArchive(file: string, now: number): Promise<ArchiveWriter> {
  if (await isThere(file)) throw new BackupError(`${file} is there already; name another file.`);
  const temporary = `${file}.${process.pid}.partial`;
  const handle = await open(temporary, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new BackupError(`There is no folder ${path.dirname(file)}. Create it, or name another one.`);
  });
  const parts: BackupPart[] = [];
  const archive = pack();
  let written = 0;
  const storing = (async () => {
    for await (const bytes of archive as AsyncIterable<Uint8Array>) {
      await handle.writeFile(bytes);
      written += bytes.byteLength;
    }
  })();
  // Awaited below: a disk that is full ends the archive, and is the reason that is told.
  storing.catch(() => undefined);
  const addFile = (name: string, bytes: Buffer): Promise<void> =>
    addEntry(archive, name, new Date(now), bytes).catch(async (error: unknown) => {
      await storing;
      throw error;
    });
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
      archive.finalize();
      await storing;
      await handle.sync();
      await handle.close();
      await rename(temporary, file);
      await syncFolder(path.dirname(file));
      return written;
    },
    discard: () => discard(archive, handle, temporary),
  };
}

/** Resolves when the bytes are on their way to the disk. Reading an archive makes its entries again, so they have nothing else. */
export const addEntry = (archive: Pack, name: string, mtime: Date, bytes: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const isDone = (error?: Error | null): void => (error ? reject(error) : resolve());
    archive.entry({ name, mode: 0o600, mtime, size: bytes.length }, bytes, isDone);
  });

async function discard(archive: Pack, handle: FileHandle, temporary: string): Promise<void> {
  archive.destroy();
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
