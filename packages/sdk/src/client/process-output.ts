import type { OutputChunk, OutputPage } from "@keelson/contract";
import { decodeBase64 } from "./base64.ts";
import { followStream, type FollowOptions } from "./follow-stream.ts";
import { withQuery, type Transport } from "./transport.ts";

/** Bytes of an output, and where in it they begin. */
export type ProcessChunk = {
  /** Where in the output the bytes begin. */
  offset: number;
  /** The bytes. */
  bytes: Uint8Array;
  /** When they were written, as RFC 3339. */
  at: string;
};

/** Options of reading an output. */
export type OutputOptions = Omit<FollowOptions, "cursor"> & {
  /** A byte offset: what comes after it. Default: from the beginning. */
  cursor?: number;
  /** `false` stops at what there is instead of going on until the process has ended. */
  follow?: boolean;
};

/**
 * An output of a process. Iterating gives its bytes in order, each once, over disconnects, from the beginning until the
 * process has ended; every iteration is one of its own. The server keeps at least the last 8 MiB: when older bytes are
 * asked for and gone, it is a ConflictError `cursor_expired`, or with `onGap` it goes on with what there is.
 */
export type ProcessOutput = AsyncIterable<Uint8Array> & {
  /** The same with offsets and times. */
  chunks(options?: OutputOptions): AsyncGenerator<ProcessChunk>;
  /** All of it once the process has ended, as UTF-8; what the server no longer keeps is left out. */
  text(options?: OutputOptions): Promise<string>;
};

const toChunk = ({ offset, data, at }: OutputChunk): ProcessChunk => ({
  offset,
  bytes: decodeBase64(data),
  at,
});

async function* readChunks(
  transport: Transport,
  path: string,
  { cursor, signal }: OutputOptions,
): AsyncGenerator<ProcessChunk> {
  for (let after: number | string | undefined = cursor; ;) {
    const page: OutputPage = await transport.request({
      method: "GET",
      path,
      query: { cursor: after, limit: 200 },
      ...(signal && { signal }),
    });
    yield* page.chunks.map(toChunk);
    if (page.chunks.length === 0 || page.next_cursor === null) return;
    after = page.next_cursor;
  }
}

async function* followChunks(
  transport: Transport,
  path: string,
  { cursor, ...options }: OutputOptions,
): AsyncGenerator<ProcessChunk> {
  const follow = { ...options, ...(cursor !== undefined && { cursor: String(cursor) }) };
  for await (const event of followStream(transport, withQuery(path, { follow: 1 }), follow))
    if (event.event === "chunk") yield toChunk(event.data as OutputChunk);
}

export function createProcessOutput(transport: Transport, path: string): ProcessOutput {
  const chunks: ProcessOutput["chunks"] = ({ follow = true, ...options } = {}) =>
    follow ? followChunks(transport, path, options) : readChunks(transport, path, options);
  return {
    chunks,
    async text(options = {}) {
      const decoder = new TextDecoder();
      let text = "";
      for await (const { bytes } of chunks({ onGap: () => undefined, ...options }))
        text += decoder.decode(bytes, { stream: true });
      return text + decoder.decode();
    },
    async *[Symbol.asyncIterator]() {
      for await (const { bytes } of chunks()) yield bytes;
    },
  };
}
