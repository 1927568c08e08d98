import type { RunLogChunk } from "@keelson/contract";
import { createLineStore, type LineStore, type LogStream } from "./line-store.ts";
import { createChanges, type Changes } from "./changes.ts";

/** The log of a run as it is heard: bytes become text, across chunks, per stream. */
export type RunLog = Changes & {
  readonly lines: LineStore;
  /** Bytes so far. */
  readonly bytes: number;
  /** The last chunk that was heard. */
  readonly cursor: number;
  /** Chunks that the server no longer has. */
  readonly skipped: number;
  add(chunks: readonly RunLogChunk[]): void;
  skipTo(earliestCursor: string | null): void;
  /** What came of a character that was never finished. */
  finish(): void;
};

/** The bytes of a base64 text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export function createRunLog(limits: Parameters<typeof createLineStore>[0] = {}): RunLog {
  const lines = createLineStore(limits);
  const decoder = (): TextDecoder => new TextDecoder("utf-8", { ignoreBOM: true });
  const decoders: Record<LogStream, TextDecoder> = { stdout: decoder(), stderr: decoder() };
  let bytes = 0;
  let cursor = 0;
  let skipped = 0;
  let lastMs = 0;
  const { changed, ...changes } = createChanges();
  return {
    lines,
    get bytes() {
      return bytes;
    },
    get cursor() {
      return cursor;
    },
    get skipped() {
      return skipped;
    },
    add(chunks) {
      for (const chunk of chunks) {
        const sequence = Number(chunk.id);
        if (sequence <= cursor) continue;
        cursor = sequence;
        const data = fromBase64(chunk.data);
        bytes += data.length;
        lastMs = Date.parse(chunk.at);
        lines.push(chunk.stream, decoders[chunk.stream].decode(data, { stream: true }), lastMs);
      }
      changed();
    },
    skipTo(earliestCursor) {
      const next = Number(earliestCursor ?? "0");
      if (next <= cursor) return;
      skipped += next - cursor;
      cursor = next;
      changed();
    },
    finish() {
      for (const stream of ["stdout", "stderr"] as const)
        lines.push(stream, decoders[stream].decode(), lastMs);
      changed();
    },
    ...changes,
  };
}
