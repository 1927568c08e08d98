/** What a process may have to do for a run that waits in it for those before. */
export const QUEUE_MS = 5;
/** More make a process no faster. */
const MOST = 32;
/** All that take longer are alike: a run of an hour is forgotten as soon as one of this length. */
const LONG_MS = 100;
/** How much of the mean the last run is. */
const WEIGHT = 0.2;

/** How long the runs of a kind of process take, as the last ones did. */
export class RunPace {
  /** Until one is known, none waits for another in its process. */
  #meanMs = QUEUE_MS;

  get meanMs(): number {
    return this.#meanMs;
  }

  /** So many a process has done soon, one at least. */
  get most(): number {
    return Math.min(MOST, Math.max(1, Math.floor(QUEUE_MS / this.#meanMs)));
  }

  took(ms: number): void {
    this.#meanMs += WEIGHT * (Math.min(ms, LONG_MS) - this.#meanMs);
  }

  /** One takes so long that those behind it do not wait for it. */
  takes(ms: number): void {
    this.#meanMs = Math.max(this.#meanMs, Math.min(ms, LONG_MS));
  }
}
