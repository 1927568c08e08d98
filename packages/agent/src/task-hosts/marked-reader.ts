/**
 * Takes one pipe of an exclusive host and gives out the bytes of each run, without the marker that the host writes
 * behind them. A marker begins with NUL and may arrive in pieces: only a tail that could be its beginning is held back.
 */
export class MarkedReader {
  readonly #emit: (bytes: Buffer) => void;
  readonly #onMarker: () => void;
  #marker: Buffer | null = null;
  #held: Buffer | null = null;

  constructor(emit: (bytes: Buffer) => void, onMarker: () => void) {
    this.#emit = emit;
    this.#onMarker = onMarker;
  }

  /** From here on the run that ends with `marker` writes. */
  expect(marker: string): void {
    this.#marker = Buffer.from(marker, "latin1");
  }

  /** No marker will come any more: what is held back is output. */
  end(): void {
    const held = this.#held;
    this.#held = null;
    this.#marker = null;
    if (held !== null) this.#emit(held);
  }

  push(bytes: Buffer): void {
    const marker = this.#marker;
    if (marker === null) return this.#emit(bytes);
    const data = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = null;
    const at = data.indexOf(marker);
    if (at >= 0) {
      this.#marker = null;
      if (at > 0) this.#emit(data.subarray(0, at));
      this.#onMarker();
      const behind = data.subarray(at + marker.length);
      if (behind.length > 0) this.#emit(behind);
      return;
    }
    const tail = partialMarkerAt(data, marker);
    if (tail < data.length) this.#held = data.subarray(tail);
    if (tail > 0) this.#emit(data.subarray(0, tail));
  }
}

/** Where a beginning of the marker at the very end of `data` starts; `data.length` when there is none. */
function partialMarkerAt(data: Buffer, marker: Buffer): number {
  const from = Math.max(0, data.length - marker.length + 1);
  for (let at = data.indexOf(0, from); at >= 0; at = data.indexOf(0, at + 1)) {
    if (data.compare(marker, 0, data.length - at, at) === 0) return at;
  }
  return data.length;
}

/** A new marker: NUL, so that searching for one costs nothing in text, and 128 random bits. */
export const formatMarker = (randomHex: string): string => `\0keelson:${randomHex}\n`;
