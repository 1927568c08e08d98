import type { ProcessStream } from "@keelson/contract";
import type { OutputPiece } from "./calls.ts";

/** Bytes held of one output until somebody has stored them; the program waits when there are more. */
const FULL_BYTES = 1024 * 1024;
/** What is written in small pieces shortly after one another becomes one piece. */
const JOIN_BYTES = 4096;
const JOIN_MS = 20;

/** One output of a process: what was written and is not yet known to be stored, with its offsets. */
export class OutputBuffer {
  readonly stream: ProcessStream;
  #pieces: OutputPiece[] = [];
  #heldBytes = 0;
  #end = 0;

  constructor(stream: ProcessStream) {
    this.stream = stream;
  }

  /** Bytes written so far. */
  get end(): number {
    return this.#end;
  }

  get isFull(): boolean {
    return this.#heldBytes >= FULL_BYTES;
  }

  /** There is room for a good part again. */
  get isLow(): boolean {
    return this.#heldBytes <= FULL_BYTES / 2;
  }

  push(data: Buffer, at: number): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.data.length + data.length <= JOIN_BYTES && at - last.at <= JOIN_MS)
      last.data = Buffer.concat([last.data, data]);
    else this.#pieces.push({ stream: this.stream, offset: this.#end, data, at });
    this.#end += data.length;
    this.#heldBytes += data.length;
  }

  /** Everything before `offset` is stored: it is not held any longer. */
  dropBefore(offset: number): void {
    let whole = 0;
    for (const piece of this.#pieces) {
      if (piece.offset + piece.data.length > offset) break;
      this.#heldBytes -= piece.data.length;
      whole += 1;
    }
    this.#pieces.splice(0, whole);
    const first = this.#pieces[0];
    if (first === undefined || first.offset >= offset) return;
    const cut = offset - first.offset;
    // Another object: the old one may have been handed out.
    this.#pieces[0] = { ...first, offset, data: first.data.subarray(cut) };
    this.#heldBytes -= cut;
  }

  /** The oldest pieces, up to about `maxBytes` and `maxPieces`. */
  take(maxBytes: number, maxPieces: number): OutputPiece[] {
    const taken: OutputPiece[] = [];
    let bytes = 0;
    for (const piece of this.#pieces) {
      if (taken.length >= maxPieces || (bytes > 0 && bytes + piece.data.length > maxBytes)) break;
      taken.push({ ...piece });
      bytes += piece.data.length;
    }
    return taken;
  }
}
