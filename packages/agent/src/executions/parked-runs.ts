import { TransientMap } from "@keelson/contract/transient-map";

/** A run that only waits, in memory, in this process. */
export type ParkedRun<Host> = { leaseId: string; host: Host; suspend(): void };

/** How many stay whose processes others wait for. A run that calls others of its own kind one after the other is mostly the only one. */
const KEPT = 1;

/**
 * Runs that only wait, in memory, the longest parked first. What is parked is bounded: beyond that the longest parked are suspended,
 * and their processes take other runs.
 *
 * Where runs wait for a process and the machine has no time to boot one, each has that of a parked run: a boot costs as much as many
 * runs that are suspended and go on later.
 */
export class ParkedRuns<Host extends { readonly key: string }> {
  readonly #most: number;
  readonly #demand: (host: Host) => number;
  readonly #runs = new TransientMap<string, ParkedRun<Host>>();
  /** Those that were asked to be suspended, and are not yet. */
  readonly #leaving = new TransientMap<string, ParkedRun<Host>>();
  #keeps = true;

  /** @param demand how many runs wait for processes like this one that are not booted for them */
  constructor(most: number, demand: (host: Host) => number) {
    this.#most = most;
    this.#demand = demand;
  }

  get size(): number {
    return this.#runs.size + this.#leaving.size;
  }

  add(run: ParkedRun<Host>): void {
    this.#runs.set(run.leaseId, run);
    if (!this.#keeps) return this.#suspend(this.#runs.size);
    this.#suspend(this.#runs.size - this.#most);
    if (this.#runs.size <= KEPT) return;
    const isAlike = ({ host }: ParkedRun<Host>): boolean => host.key === run.host.key;
    const leaving = [...this.#leaving.values()].filter(isAlike).length;
    const alike = [...this.#runs.values()].filter(isAlike);
    this.#suspend(Math.min(this.#demand(run.host) - leaving, alike.length - KEPT), alike);
  }

  /** It goes on, or has ended. */
  delete(leaseId: string): void {
    this.#runs.delete(leaseId);
    this.#leaving.delete(leaseId);
  }

  /** Suspends all, and from now on each at once. */
  keepNone(): void {
    this.#keeps = false;
    this.#suspend(this.#runs.size);
  }

  /** One that cannot be suspended yet is asked again without us. */
  #suspend(count: number, among: readonly ParkedRun<Host>[] = [...this.#runs.values()]): void {
    for (const run of among.slice(0, Math.max(0, count))) {
      this.#runs.delete(run.leaseId);
      this.#leaving.set(run.leaseId, run);
      run.suspend();
    }
  }
}
