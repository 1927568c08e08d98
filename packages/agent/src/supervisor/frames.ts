/**
 * What an agent and a supervisor say to each other over their Unix socket. A frame is two little-endian 32-bit lengths,
 * a JSON head and raw bytes: output and input are never base64 on this way.
 */
const HEADER_BYTES = 8;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

export function encodeFrame(head: object, body: readonly Buffer[] = []): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32LE(text.length, 0);
  header.writeUInt32LE(
    body.reduce((sum, part) => sum + part.length, 0),
    4,
  );
  return Buffer.concat([header, text, ...body]);
}

/** Takes bytes as they come and calls `receive` for each whole frame; throws at what cannot be one. */
export function createFrameReader<Head>(
  receive: (head: Head, body: Buffer) => void,
): (bytes: Buffer) => void {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let wantedBytes = HEADER_BYTES;
  return (bytes) => {
    held.push(bytes);
    heldBytes += bytes.length;
    if (heldBytes < wantedBytes) return;
    let rest = held.length === 1 ? bytes : Buffer.concat(held);
    wantedBytes = HEADER_BYTES;
    while (rest.length >= HEADER_BYTES) {
      const headEnd = HEADER_BYTES + rest.readUInt32LE(0);
      const end = headEnd + rest.readUInt32LE(4);
      if (end > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${end} bytes is over the limit`);
      wantedBytes = end;
      if (rest.length < end) break;
      receive(JSON.parse(rest.toString("utf8", HEADER_BYTES, headEnd)) as Head, rest.subarray(headEnd, end));
      rest = rest.subarray(end);
      wantedBytes = HEADER_BYTES;
    }
    held = rest.length === 0 ? [] : [rest];
    heldBytes = rest.length;
  };
}
