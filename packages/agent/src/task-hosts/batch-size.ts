/** About what a process has to do with what it is given at once. */
const BATCH_MS = 5;
/** More make a process no faster. */
const MOST = 32;

/**
 * How many runs a process is given at once: as many as such processes lately did in a moment, and at first one. Runs that take
 * longer are given one by one.
 */
export class BatchSize {
  #most = 1;

  get most(): number {
    return this.#most;
  }

  /** A process has done that many in that time. */
  done(runs: number, ms: number): void {
    this.#most = Math.max(
      1,
      Math.min(2 * this.#most, MOST, Math.floor((runs * BATCH_MS) / Math.max(ms, 0.01))),
    );
  }

  /** One of them took so long that those behind it were taken back. */
  tookLong(): void {
    this.#most = 1;
  }
}
