const TAIL_BYTES = 8 * 1024;

/** The last bytes of a stream. */
export class OutputTail {
  #pieces: Buffer[] = [];

  push(bytes: Buffer): void {
    this.#pieces.push(bytes);
    if (this.#pieces.length < 32 && bytes.length < TAIL_BYTES) return;
    this.#pieces = [this.#end()];
  }

  clear(): void {
    this.#pieces = [];
  }

  toString(): string {
    return this.#end().toString();
  }

  #end(): Buffer {
    return Buffer.concat(this.#pieces).subarray(-TAIL_BYTES);
  }
}
