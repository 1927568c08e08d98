import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, createZstdCompress, zstdDecompress } from "node:zlib";
import { TreeError } from "./tree-error.ts";

/** Bytes of files as they are stored: zstd of up to 4 MiB, named by the SHA-256 of the stored bytes. */
export type Piece = { readonly digest: string; readonly bytes: Uint8Array };

/**
 * Where pieces and manifests go. Durable when it resolves; storing what is there already is harmless. The bytes are the sink's
 * until then, and not after it.
 */
export type BlobSink = { put(digest: string, bytes: Uint8Array): Promise<void> };

/** Where they come from; null when it is not there. What it gives is not trusted: digests are checked here. */
export type BlobSource = { get(digest: string): Promise<Uint8Array | null> };

/** Raw bytes of a piece. Small enough to be read for one small file, large enough that a tree has few of them. */
export const PIECE_BYTES = 4 * 1024 * 1024;

const decompress = promisify(zstdDecompress);

/** Level 1: on the machines this runs on, reading and hashing files is then no faster than compressing them. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: PIECE_BYTES + 65_536 };

const HASHED_PER_TURN = 1024 * 1024;

/**
 * A part a turn, because the digest of 4 MiB takes milliseconds. WebCrypto, which has a thread for it, copies them first:
 * in this thread that takes longer than the digest itself does.
 */
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes.byteLength; at += HASHED_PER_TURN) {
    if (at > 0) await turn();
    hash.update(bytes.subarray(at, at + HASHED_PER_TURN));
  }
  return hash.digest("hex");
}

export async function sealPiece(raw: Uint8Array): Promise<Piece> {
  const bytes = await compress(raw);
  return { digest: await digestOf(bytes), bytes };
}

/**
 * As `zstdCompress`, which copies the whole result when it comes in parts: that of what does not compress does, because the
 * last block is written at the end of the stream. The parts are of one memory as a rule, which is then taken as it is.
 */
function compress(raw: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    createZstdCompress({ ...LEVEL, pledgedSrcSize: raw.byteLength })
      .on("data", (part: Buffer) => parts.push(part))
      .once("error", reject)
      .once("end", () => resolve(joinParts(parts)))
      .end(raw);
  });
}

/** The parts as one: without a copy when each begins in memory where the one before it ends. */
export function joinParts(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  if (first === undefined) return Buffer.alloc(0);
  let length = 0;
  for (const part of parts) {
    if (part.buffer !== first.buffer || part.byteOffset !== first.byteOffset + length)
      return Buffer.concat(parts);
    length += part.length;
  }
  return Buffer.from(first.buffer, first.byteOffset, length);
}

/**
 * The raw bytes of a stored piece.
 *
 * @throws TreeError `damaged` when the bytes have another digest or cannot be decompressed to at most 4 MiB.
 */
export async function openPiece(digest: string, bytes: Uint8Array): Promise<Buffer> {
  if ((await digestOf(bytes)) !== digest)
    throw new TreeError("damaged", `The blob ${digest} is damaged: its bytes have another digest.`, {
      digest,
    });
  try {
    return await decompress(bytes, { maxOutputLength: PIECE_BYTES, chunkSize: PIECE_BYTES });
  } catch (error) {
    throw new TreeError(
      "damaged",
      `The blob ${digest} is not a piece of files.`,
      { digest },
      { cause: error },
    );
  }
}

/** @throws TreeError `missing_blob`, `damaged`. */
export async function fetchPiece(source: BlobSource, digest: string): Promise<Buffer> {
  const bytes = await source.get(digest);
  if (bytes === null) throw new TreeError("missing_blob", `The blob ${digest} is not there.`, { digest });
  return openPiece(digest, bytes);
}
