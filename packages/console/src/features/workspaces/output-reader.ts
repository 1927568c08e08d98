import type { OutputChunk } from "@keelson/contract";

const bytesOf = (base64: string): Uint8Array =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** The bytes of chunks in order, each once: what was given before, by its offset, is left out. */
export function createByteReader(): { take: (chunk: OutputChunk) => Uint8Array; position: () => number } {
  let position = 0;
  return {
    take: ({ offset, data }) => {
      const bytes = bytesOf(data);
      const fresh = bytes.subarray(Math.max(0, Math.min(bytes.length, position - offset)));
      position = Math.max(position, offset + bytes.length);
      return fresh;
    },
    position: () => position,
  };
}

/** As text: a character may be cut between two chunks, and what is no UTF-8 is U+FFFD. */
export function createOutputReader(): { text: (chunk: OutputChunk) => string; rest: () => string } {
  const reader = createByteReader();
  const decoder = new TextDecoder();
  return {
    text: (chunk) => decoder.decode(reader.take(chunk), { stream: true }),
    rest: () => decoder.decode(),
  };
}
