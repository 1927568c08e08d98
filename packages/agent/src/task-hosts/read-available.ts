import { readSync } from "node:fs";
import type { Socket } from "node:net";

const CHUNK_BYTES = 256 * 1024;
/** More than a pipe or a socket holds. What comes behind it was written meanwhile, and somebody who floods is left. */
const MOST_BYTES = 4 * 1024 * 1024;
const chunk = Buffer.allocUnsafe(CHUNK_BYTES);

/** Node has no public way to a socket's descriptor. */
type WithDescriptor = { _handle?: { fd?: number } | null };

/**
 * Reads at once what was written into a pipe until now, the stream's own buffer first, which it gives to its `data`
 * listeners. Ends early, with false, when `isHeld` says so between two pieces; what is left is read by the next call.
 */
export function readAvailable(
  stream: Socket,
  emit: (bytes: Buffer) => void,
  isHeld = (): boolean => false,
): boolean {
  let taken = 0;
  while (!isHeld()) {
    if (stream.readableLength > 0 && stream.read() !== null) continue;
    const bytes =
      taken < MOST_BYTES ? readPiece((stream as unknown as WithDescriptor)._handle?.fd ?? -1) : null;
    if (bytes === null) return true;
    taken += bytes.length;
    emit(bytes);
  }
  return false;
}

/** Null when there is nothing now; the end of a pipe is seen by its stream. */
function readPiece(fd: number): Buffer | null {
  if (fd < 0) return null;
  const { stackTraceLimit } = Error;
  try {
    // Nearly every run ends with two empty pipes, which Node says by an error: most of its cost is the stack.
    Error.stackTraceLimit = 0;
    const length = readSync(fd, chunk);
    return length === 0 ? null : Buffer.from(chunk.subarray(0, length));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A pipe whose other end was killed says so in its stream too.
    if (code === "EAGAIN" || code === "ECONNRESET") return null;
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
