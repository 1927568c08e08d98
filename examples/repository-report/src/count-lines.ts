import { constants, open } from "node:fs/promises";

export type FileSize = {
  bytes: number;
  /** Null for a file that is not text. */
  lines: number | null;
};

const CHUNK_BYTES = 64 * 1024;
/** As git does: a file with a NUL among its first bytes is not text. */
const PROBE_BYTES = 8_000;
const LINE_FEED = 10;

/** Links are not followed out of the repository, and a pipe in a file's place does not block. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** How long a file is; its last line counts without a line feed too. Rejects with the system's error when it cannot be read. */
export async function countLines(path: string): Promise<FileSize> {
  await using file = await open(path, FLAGS);
  if (!(await file.stat()).isFile()) throw new Error("it is no longer a regular file");
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  let lines = 0;
  let isText = true;
  let last = LINE_FEED;
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) break;
    const part = chunk.subarray(0, bytesRead);
    if (bytes === 0 && part.subarray(0, PROBE_BYTES).includes(0)) isText = false;
    if (isText) {
      for (let at = part.indexOf(LINE_FEED); at !== -1; at = part.indexOf(LINE_FEED, at + 1)) lines += 1;
      last = part.at(-1) as number;
    }
    bytes += bytesRead;
  }
  if (!isText) return { bytes, lines: null };
  return { bytes, lines: last === LINE_FEED ? lines : lines + 1 };
}
