/**
 * Gives back the memory of bytes that nobody uses any more, nor anything else in the same memory: they are empty from then on.
 * The collector would find it in the end, but every few dozen megabytes of such memory make it walk the whole heap: about 25
 * times in a commit of 500 MB.
 *
 * Small bytes are left alone that Node cuts out of memory that it shares.
 */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  const mayBeShared = byteLength < buffer.byteLength && buffer.byteLength <= Buffer.poolSize;
  if (buffer instanceof ArrayBuffer && !mayBeShared) buffer.transfer(0);
}

/** The same bytes, each chunk until the next one is asked for: its memory is given back then. */
export async function* passing(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    yield chunk;
    if (chunk.byteLength === chunk.buffer.byteLength) giveBack(chunk);
  }
}
