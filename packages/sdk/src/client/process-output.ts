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
  /** A byte offset: reading starts there. By default at the beginning. */
  cursor?: number;
  /** `false` reads the existing output only. By default, reading continues until the process has ended. */
  follow?: boolean;
};

/**
 * An output of a process. Each iteration yields its bytes in order, each once, from the beginning until the process has
 * ended, and reconnects when necessary. The server keeps at least the last 8 MiB. A request for older bytes rejects with
 * a ConflictError `cursor_expired`. With `onGap`, reading continues with the oldest existing bytes.
 */
export type ProcessOutput = AsyncIterable<Uint8Array> & {
  /** The same with offsets and times. */
  chunks(options?: OutputOptions): AsyncGenerator<ProcessChunk>;
  /** The whole output as UTF-8, when the process has ended, without bytes that the server no longer keeps. */
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
    const page = (await transport.request({
      method: "GET",
      path,
      query: { cursor: after, limit: 200 },
      ...(signal && { signal }),
    })) as OutputPage;
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
