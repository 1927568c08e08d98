import { closeSync, constants, openSync, readSync, unlinkSync, writeSync } from "node:fs";

const NONE = -1;
const CHUNK_BYTES = 256;
/** What was read stays in the file: it grows by a byte for each run, and no further than this. */
export const MOST_TICKETS = 32 * 1024;

/**
 * One byte for each run that waits in a host behind another one: its number there, modulo 256. The agent and the host read
 * them from one open file, whose position they share: a byte is read by one of them, whenever and however often both try. So
 * the agent takes a run back from a process whose code is busy, without a word of it, and knows of one that is gone what it
 * had begun.
 */
export class RunTickets {
  #writing = NONE;
  /** The host's descriptor. */
  readonly #reading: number;
  #written = 0;

  /** @param path a file that is not there, in a folder where nobody else can make one. It is gone when this returns. */
  constructor(path: string) {
    this.#writing = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      this.#reading = openSync(path, "r");
    } catch (error) {
      closeSync(this.#writing);
      throw error;
    } finally {
      unlinkSync(path);
    }
  }

  /** What the host inherits. It cannot be written by it. */
  get descriptor(): number {
    return this.#reading;
  }

  get isUsedUp(): boolean {
    return this.#written >= MOST_TICKETS;
  }

  /** False when the disk is full. */
  issue(n: number): boolean {
    try {
      this.#written += writeSync(this.#writing, Buffer.of(n % 256), 0, 1, this.#written);
      return true;
    } catch {
      return false;
    }
  }

  /** The numbers, modulo 256, that the host has not drawn and will not. */
  takeBack(): Set<number> {
    const taken = new Set<number>();
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const length = readSync(this.#reading, chunk, 0, chunk.length, null);
      if (length === 0) return taken;
      for (const byte of chunk.subarray(0, length)) taken.add(byte);
    }
  }

  close(): void {
    if (this.#writing === NONE) return;
    closeSync(this.#writing);
    closeSync(this.#reading);
    this.#writing = NONE;
  }
}
