import { writeSync } from "node:fs";

/** What file systems keep or leave out as a whole. */
const BLOCK_BYTES = 4096;
const ZEROS = Buffer.alloc(BLOCK_BYTES);

/**
 * Writes bytes to a new file from the position on, except for its whole blocks of zeros: these stay holes, which read as
 * zeros and take no place on the disk. The file's size is the caller's to set.
 */
export function writeSparse(fd: number, bytes: Buffer, position: number): void {
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    const end = Math.min(at + BLOCK_BYTES - ((position + at) % BLOCK_BYTES), bytes.length);
    if (isZeros(bytes, at, end)) {
      writeAll(fd, bytes.subarray(from, at), position + from);
      from = end;
    }
    at = end;
  }
  writeAll(fd, bytes.subarray(from), position + from);
}

/** Most blocks are told by their first byte. */
const isZeros = (bytes: Buffer, start: number, end: number): boolean =>
  bytes[start] === 0 && bytes.compare(ZEROS, 0, end - start, start, end) === 0;

function writeAll(fd: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, position + at);
}
