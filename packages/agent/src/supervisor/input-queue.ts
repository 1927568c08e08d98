import type { Writable } from "node:stream";

/** Input held for a program that does not read. */
const MAX_HELD_BYTES = 1024 * 1024;
const PART_BYTES = 64 * 1024;

/**
 * Input by offsets: what was taken before is not taken again, what would leave a gap is not taken at all, and neither
 * is more than a bounded amount that the program has not read. After the program closed its end everything is taken
 * and dropped, as a pipe without a reader does.
 */
export class InputQueue {
  readonly #sink: Writable;
  readonly #ends: boolean;
  #parts: Buffer[] = [];
  #heldBytes = 0;
  #taken = 0;
  #closed = false;
  #writing = false;
  #broken = false;

  /** @param ends the sink is ended when the input is closed; a terminal's is not. */
  constructor(sink: Writable, ends: boolean) {
    this.#sink = sink;
    this.#ends = ends;
    sink.on("error", () => this.#break());
    sink.on("close", () => this.#break());
  }

  /** Bytes taken in all. */
  get taken(): number {
    return this.#taken;
  }

  get closed(): boolean {
    return this.#closed;
  }

  write(offset: number, bytes: Buffer, closed: boolean): void {
    if (offset > this.#taken || this.#closed) return;
    const fresh = bytes.subarray(this.#taken - offset);
    const room = this.#broken ? fresh.length : Math.max(0, MAX_HELD_BYTES - this.#heldBytes);
    const accepted = fresh.subarray(0, room);
    this.#taken += accepted.length;
    if (closed && accepted.length === fresh.length) this.#closed = true;
    if (this.#broken) return;
    for (let at = 0; at < accepted.length; at += PART_BYTES)
      this.#parts.push(Buffer.from(accepted.subarray(at, at + PART_BYTES)));
    this.#heldBytes += accepted.length;
    this.#next();
  }

  #next(): void {
    if (this.#writing || this.#broken) return;
    const part = this.#parts.shift();
    if (part === undefined) {
      if (this.#closed && this.#ends) this.#sink.end();
      return;
    }
    this.#writing = true;
    this.#sink.write(part, (error) => {
      this.#writing = false;
      this.#heldBytes -= part.length;
      if (error) this.#break();
      else this.#next();
    });
  }

  #break(): void {
    this.#broken = true;
    this.#parts = [];
    this.#heldBytes = 0;
  }
}
