import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import type { LogChunkRow } from "./run-log-reads.ts";

// A pack: a mark, then each chunk as sequence, attempt, stream, time and length, in big-endian numbers, and its bytes; all
// of it compressed. The mark says which format it is.
const MARK = Buffer.from("keelson log 1\n");
const HEAD_BYTES = 4 + 4 + 1 + 8 + 4;
const STREAMS = ["stdout", "stderr"] as const;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The same chunks give the same bytes, so that packing that is done again writes no second blob. */
export function writeLogPack(chunks: readonly LogChunkRow[]): Promise<Buffer> {
  const parts: Buffer[] = [MARK];
  for (const { sequence, attemptNumber, stream, data, at } of chunks) {
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(sequence, 0);
    head.writeUInt32BE(attemptNumber, 4);
    head.writeUInt8(STREAMS.indexOf(stream), 8);
    head.writeDoubleBE(at, 9);
    head.writeUInt32BE(data.length, 17);
    parts.push(head, data);
  }
  return compress(Buffer.concat(parts), { params: { [constants.ZSTD_c_compressionLevel]: 6 } });
}

/** @throws Error when the bytes are not a pack. */
export async function readLogPack(bytes: Buffer): Promise<LogChunkRow[]> {
  const raw = await decompress(bytes);
  if (!raw.subarray(0, MARK.length).equals(MARK)) throw new Error("The blob is not a pack of logs.");
  const chunks: LogChunkRow[] = [];
  for (let at = MARK.length; at < raw.length;) {
    const stream = STREAMS[raw.readUInt8(at + 8)];
    const length = raw.readUInt32BE(at + 17);
    const end = at + HEAD_BYTES + length;
    if (stream === undefined || end > raw.length) throw new Error("The pack of logs is not whole.");
    chunks.push({
      sequence: raw.readUInt32BE(at),
      attemptNumber: raw.readUInt32BE(at + 4),
      stream,
      data: raw.subarray(at + HEAD_BYTES, end),
      at: raw.readDoubleBE(at + 9),
    });
    at = end;
  }
  return chunks;
}
