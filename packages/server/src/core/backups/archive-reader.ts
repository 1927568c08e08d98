import { createHash } from "node:crypto";
import { once, type EventEmitter } from "node:events";
import { open, type FileHandle } from "node:fs/promises";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { extract, pack, type Extract, type Pack } from "tar-stream";
import { addEntry, digestOf } from "./archive-writer.ts";
import {
  DamagedBackupError,
  MANIFEST_DIGEST_NAME,
  MANIFEST_NAME,
  parseManifest,
  type BackupManifest,
  type BackupPart,
  type BackupProgress,
} from "./backup.ts";

/** An archive of which every byte was found to be as it was written. */
export type Archive = {
  readonly manifest: BackupManifest;
  /** The content of a part, checked once more. */
  read(name: string): Promise<Buffer>;
  close(): Promise<void>;
};

/** Of an entry; names are too short for a second one. */
const HEADER_BYTES = 512;

const decompress = promisify(zstdDecompress);

type Place = { sizeBytes: number; position: number; sha256: string };

/**
 * Reads all of it, and gives it out only when nothing in it is missing, changed or too much.
 *
 * @throws DamagedBackupError that names the part, BackupError for an archive that this program cannot read.
 */
export async function openArchive(file: string, tell: (progress: BackupProgress) => void): Promise<Archive> {
  const handle = await open(file, "r");
  try {
    const places = await readPlaces(handle, file, tell);
    const manifest = await readManifest(handle, places, file);
    const parts = checkParts(manifest, places, file);
    return {
      manifest,
      read: (name) => readPart(handle, parts, places, name, file),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Where each file of the archive is, with its digest. The entries are packed once more: what they become is the archive to
 * the last bit, or something is changed that no digest of a part covers.
 */
async function readPlaces(
  handle: FileHandle,
  file: string,
  tell: (progress: BackupProgress) => void,
): Promise<Map<string, Place>> {
  const { size } = await handle.stat();
  const places = new Map<string, Place>();
  let last = "its beginning";
  const damaged = (what: string, cause?: unknown): DamagedBackupError =>
    new DamagedBackupError(`${file} is damaged: ${what} after ${last}. Use another backup.`, { cause });
  const again = pack();
  const packedAgain = digestOfStream(again);
  const entries = extract();
  const asIs = feed(handle, entries);
  asIs.catch((error: Error) => entries.destroy(error));
  try {
    for await (const entry of entries) {
      const { name, mtime } = entry.header;
      if (places.has(name)) throw damaged("the header");
      const content = await bufferOf(entry);
      await addEntry(again, name, mtime, content);
      const position = entry.offset + HEADER_BYTES;
      places.set(name, { sizeBytes: content.length, position, sha256: digestOf(content) });
      last = name;
      tell({ what: "verifying", done: position + content.length, of: size });
    }
  } catch (error) {
    // What the disk says has a code, what the library says of an archive has none.
    throw error instanceof DamagedBackupError || hasCode(error)
      ? error
      : damaged("the archive cannot be read", error);
  }
  again.finalize();
  if ((await asIs) !== (await packedAgain))
    throw damaged("something between its parts has changed, or follows");
  return places;
}

/** @returns the digest of all bytes, when the last one is read. */
async function feed(handle: FileHandle, entries: Extract): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of handle.createReadStream({
    start: 0,
    autoClose: false,
  }) as AsyncIterable<Buffer>) {
    hash.update(bytes);
    if (!entries.write(bytes)) await once(entries as unknown as EventEmitter, "drain");
  }
  entries.end(null);
  return hash.digest("hex");
}

async function digestOfStream(stream: Pack): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of stream as AsyncIterable<Uint8Array>) hash.update(bytes);
  return hash.digest("hex");
}

async function bufferOf(chunks: AsyncIterable<unknown>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const bytes of chunks) all.push(bytes as Uint8Array);
  return Buffer.concat(all);
}

const hasCode = (error: unknown): boolean => error instanceof Error && "code" in error;

async function readManifest(
  handle: FileHandle,
  places: Map<string, Place>,
  file: string,
): Promise<BackupManifest> {
  const manifest = places.get(MANIFEST_NAME);
  const digest = places.get(MANIFEST_DIGEST_NAME);
  if (manifest === undefined || digest === undefined)
    throw new DamagedBackupError(`${file} has no manifest: it is not a backup, or it was cut off.`);
  const said = (await readBytes(handle, digest.position, digest.sizeBytes)).toString();
  if (said !== `${manifest.sha256}  ${MANIFEST_NAME}\n`)
    throw new DamagedBackupError(
      `${file} is damaged: ${MANIFEST_NAME} has another digest. Use another backup.`,
    );
  return parseManifest((await readBytes(handle, manifest.position, manifest.sizeBytes)).toString());
}

function checkParts(
  manifest: BackupManifest,
  places: Map<string, Place>,
  file: string,
): Map<string, BackupPart> {
  const parts = new Map(manifest.parts.map((part) => [part.name, part]));
  for (const part of manifest.parts) {
    const place = places.get(part.name);
    if (place === undefined)
      throw new DamagedBackupError(`${file} is damaged: ${part.name} is missing. Use another backup.`);
    if (place.sizeBytes !== part.size_bytes || place.sha256 !== part.sha256)
      throw new DamagedBackupError(
        `${file} is damaged: ${part.name} has another digest. Use another backup.`,
      );
  }
  for (const name of places.keys()) {
    if (!parts.has(name) && name !== MANIFEST_NAME && name !== MANIFEST_DIGEST_NAME)
      throw new DamagedBackupError(`${file} holds ${name}, of which its manifest does not know.`);
  }
  return parts;
}

async function readPart(
  handle: FileHandle,
  parts: Map<string, BackupPart>,
  places: Map<string, Place>,
  name: string,
  file: string,
): Promise<Buffer> {
  const part = parts.get(name);
  const place = places.get(name);
  if (part === undefined || place === undefined) throw new DamagedBackupError(`${file} has no ${name}.`);
  const bytes = await readBytes(handle, place.position, place.sizeBytes);
  if (digestOf(bytes) !== part.sha256)
    throw new DamagedBackupError(`${file} has changed since it was verified: ${name} has another digest.`);
  return decompress(bytes, { maxOutputLength: Math.max(1, part.raw_bytes) });
}

async function readBytes(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let have = 0; have < length;) {
    const { bytesRead } = await handle.read(bytes, have, length - have, position + have);
    if (bytesRead === 0) throw new DamagedBackupError("The archive became shorter while it was read.");
    have += bytesRead;
  }
  return bytes;
}
