import { createHash, hash } from "node:crypto";
import { fetchPiece, PIECE_BYTES, type BlobSource } from "./piece.ts";
import type { Extent, FileEntry } from "./tree.ts";
import { TreeError } from "./tree-error.ts";

/**
 * The bytes of a file from `start` up to, not including, `end`. Every piece is checked against its digest before any of
 * its bytes are given out, a small file against its own as well; a large one that is read whole is checked at its end.
 *
 * @throws TreeError `missing_blob`, `damaged`: no wrong byte is ever given out.
 */
export async function* readContent(
  file: FileEntry,
  source: BlobSource,
  start = 0,
  end: number = file.size,
): AsyncGenerator<Buffer> {
  if (file.size <= PIECE_BYTES) {
    const whole = Buffer.concat(await Promise.all(file.extents.map((extent) => readExtent(source, extent))));
    checkDigest(file, hash("sha256", whole));
    if (end > start) yield whole.subarray(start, end);
    return;
  }
  const whole = start === 0 && end === file.size ? createHash("sha256") : null;
  let position = 0;
  for (const extent of file.extents) {
    const from = Math.max(start - position, 0);
    const to = Math.min(end - position, extent.length);
    position += extent.length;
    if (from >= to) continue;
    const bytes = (await readExtent(source, extent)).subarray(from, to);
    whole?.update(bytes);
    yield bytes;
  }
  if (whole !== null) checkDigest(file, whole.digest("hex"));
}

async function readExtent(source: BlobSource, { blob, offset, length }: Extent): Promise<Buffer> {
  return cut(await fetchPiece(source, blob), blob, offset, length);
}

/** @throws TreeError `damaged` when the piece has not so many bytes. */
export function cut(raw: Buffer, blob: string, offset: number, length: number): Buffer {
  if (offset + length > raw.length)
    throw new TreeError("damaged", `The blob ${blob} is shorter than its file needs.`, { digest: blob });
  return raw.subarray(offset, offset + length);
}

export function checkDigest(file: FileEntry, found: string): void {
  if (found === file.digest) return;
  throw new TreeError(
    "damaged",
    `The stored content of ${JSON.stringify(file.path)} is damaged: it has the digest ${found}, not ${file.digest}.`,
    { path: file.path, digest: file.digest },
  );
}
