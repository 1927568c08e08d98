import type { LogStream } from "@keelson/contract";
import type { LogChunk } from "./lease-channel.ts";

/** How long output waits for more of it. */
const COALESCE_MS = 20;
const CHUNK_BYTES = 64 * 1024;
/** Output leaves without waiting when so much of it is there; also the bound of one operation. */
const FLUSH_BYTES = 256 * 1024;
const FLUSH_CHUNKS = 500;

export type LogBufferOptions = {
  /** Output past so many bytes is read and forgotten. */
  maxBytes: number;
  timestamp(): string;
  send(chunks: LogChunk[]): void;
};

type Segment = { stream: LogStream; parts: Buffer[]; bytes: number; at: string };

/**
 * The output of one run on its way to the reporter. Neighbouring bytes of one stream become one chunk, a change of
 * stream starts the next: within a run the order of the two streams is the order in which they arrived here.
 */
export class LogBuffer {
  readonly #options: LogBufferOptions;
  #segments: Segment[] = [];
  #pendingBytes = 0;
  #totalBytes = 0;
  #cut = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: LogBufferOptions) {
    this.#options = options;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  write(stream: LogStream, bytes: Buffer): void {
    if (this.#cut || bytes.length === 0) return;
    const room = this.#options.maxBytes - this.#totalBytes;
    if (bytes.length <= room) return this.#append(stream, bytes);
    this.#append(stream, bytes.subarray(0, room));
    this.#cut = true;
    this.#append(stream, Buffer.from(`\n[keelson] output cut: more than ${this.#options.maxBytes} bytes\n`));
    this.flush();
  }

  /** Sends what is pending now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#segments.length === 0) return;
    const chunks = this.#segments.map(({ stream, parts, at }) => ({
      stream,
      bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts),
      at,
    }));
    this.#segments = [];
    this.#pendingBytes = 0;
    this.#options.send(chunks);
  }

  /** Forgets what is pending. */
  discard(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#segments = [];
    this.#pendingBytes = 0;
    this.#cut = true;
  }

  #append(stream: LogStream, bytes: Buffer): void {
    this.#totalBytes += bytes.length;
    let rest = bytes;
    while (rest.length > 0) {
      const segment = this.#segmentFor(stream);
      const part = rest.subarray(0, CHUNK_BYTES - segment.bytes);
      segment.parts.push(part);
      segment.bytes += part.length;
      this.#pendingBytes += part.length;
      rest = rest.subarray(part.length);
      if (this.#pendingBytes >= FLUSH_BYTES || this.#segments.length >= FLUSH_CHUNKS) this.flush();
    }
    if (this.#segments.length > 0) this.#timer ??= setTimeout(() => this.flush(), COALESCE_MS);
  }

  #segmentFor(stream: LogStream): Segment {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.stream === stream && last.bytes < CHUNK_BYTES) return last;
    const next: Segment = { stream, parts: [], bytes: 0, at: this.#options.timestamp() };
    this.#segments.push(next);
    return next;
  }
}
