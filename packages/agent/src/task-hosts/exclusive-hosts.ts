import { hostKey, type HostSpec } from "./host-key.ts";
import type { TaskHost } from "./task-host.ts";

/** How long a run waits for a process that is busy or boots before another one is booted for it. */
const PATIENCE_MS = 20;
/** The same on a machine without time to spare, where one more process only makes the others slower. */
const BUSY_PATIENCE_MS = 500;
/** A boot that takes longer waits for something else than the processor, and holds up no other boot. */
const LONG_BOOT_MS = 1_000;

export type ExclusiveHostsOptions = {
  /** Boots at a time. */
  boots: number;
  start(spec: HostSpec): TaskHost;
  /** Makes room for one more, if there is a limit to keep. */
  makeRoom(): void;
  /** The host takes no run now, or takes one again. */
  idle(host: TaskHost): void;
  taken(host: TaskHost): void;
  hasSpareCpu(): boolean;
  /** In milliseconds. */
  monotonic(): number;
};

type Waiter = { since: number; resolve(host: TaskHost): void; reject(error: unknown): void };

/** The hosts of one key, and the runs that wait for one, the first first. */
type Line = {
  key: string;
  spec: HostSpec;
  waiters: Waiter[];
  /** The one used last at the end, which is the warmest. */
  idle: TaskHost[];
  /** Those that may take runs: idle, lent and booting. */
  usable: Set<TaskHost>;
  booting: number;
};

/**
 * Lends processes to one run each. A run takes the first process of its key that is free, whoever it was booted for; one
 * more is booted when there is none at all, or when a run has waited for a while. So short runs share a few warm
 * processes, and long ones get as many as run at once.
 */
export class ExclusiveHosts {
  readonly #options: ExclusiveHostsOptions;
  readonly #lines = new Map<string, Line>();
  /** When each boot that is under way began. */
  readonly #boots = new Map<TaskHost, number>();
  #timer: NodeJS.Timeout | null = null;
  #isStarting = false;
  #closed = false;

  constructor(options: ExclusiveHostsOptions) {
    this.#options = options;
  }

  /** A booted host, borrowed; rejects with what its boot ended with when that was for this run. */
  acquire(spec: HostSpec): Promise<TaskHost> {
    if (this.#closed) return Promise.reject(stopping());
    const line = this.#lineOf(spec);
    const host = line.waiters.length === 0 ? line.idle.pop() : undefined;
    if (host !== undefined) return Promise.resolve(this.#lend(host));
    return new Promise((resolve, reject) => {
      line.waiters.push({ since: this.#options.monotonic(), resolve, reject });
      this.#boot();
    });
  }

  /** Adds a host that was started elsewhere and is lent. */
  adopt(host: TaskHost): void {
    this.#lineOf(host.spec).usable.add(host);
  }

  /** Nobody has it any more, and it may take runs. */
  offer(host: TaskHost): void {
    const line = this.#lineOf(host.spec);
    const waiter = line.waiters.shift();
    if (waiter !== undefined) return waiter.resolve(this.#lend(host));
    line.idle.push(host);
    this.#options.idle(host);
  }

  /** It takes no more runs. */
  forget(host: TaskHost): void {
    const line = this.#lines.get(host.key);
    if (line !== undefined) {
      line.usable.delete(host);
      line.idle = line.idle.filter((other) => other !== host);
      if (line.usable.size === 0 && line.waiters.length === 0) this.#lines.delete(line.key);
    }
    this.#boot();
  }

  /** Refuses everybody who waits, and those who still come. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { waiters } of this.#lines.values())
      for (const { reject } of waiters.splice(0)) reject(stopping());
  }

  #lineOf(spec: HostSpec): Line {
    const key = hostKey(spec);
    const present = this.#lines.get(key);
    if (present !== undefined) return present;
    const line: Line = { key, spec, waiters: [], idle: [], usable: new Set(), booting: 0 };
    this.#lines.set(key, line);
    return line;
  }

  #lend(host: TaskHost): TaskHost {
    host.borrow();
    this.#options.taken(host);
    return host;
  }

  /** Boots what is wanted now, for who has waited longest, and looks again soon while somebody waits for more. */
  #boot(): void {
    // Making room for a host forgets another one, which would look for a boot again.
    if (this.#closed || this.#isStarting) return;
    this.#isStarting = true;
    try {
      this.#startWanted();
    } finally {
      this.#isStarting = false;
    }
    if (this.#longest(() => true) !== null) this.#timer ??= setTimeout(() => this.#lookAgain(), PATIENCE_MS);
  }

  #startWanted(): void {
    const now = this.#options.monotonic();
    const patience = this.#options.hasSpareCpu() ? PATIENCE_MS : BUSY_PATIENCE_MS;
    while (this.#mayBoot(now)) {
      const line = this.#longest(({ usable }, since) => usable.size === 0 || now - since >= patience);
      if (line === null) break;
      this.#startOne(line, now);
    }
  }

  #lookAgain(): void {
    this.#timer = null;
    this.#boot();
  }

  /** The line whose first waiter that nothing boots for came first, of those that may have a boot. */
  #longest(mayHave: (line: Line, since: number) => boolean): Line | null {
    let longest: Line | null = null;
    let since = Number.POSITIVE_INFINITY;
    for (const line of this.#lines.values()) {
      const waiter = line.waiters[line.booting];
      if (waiter === undefined || waiter.since >= since || !mayHave(line, waiter.since)) continue;
      [longest, since] = [line, waiter.since];
    }
    return longest;
  }

  #mayBoot(now: number): boolean {
    const counted = [...this.#boots.values()].filter((since) => now - since < LONG_BOOT_MS).length;
    return counted < this.#options.boots;
  }

  #startOne(line: Line, now: number): void {
    let host: TaskHost;
    try {
      this.#options.makeRoom();
      host = this.#options.start(line.spec);
    } catch (error) {
      return line.waiters.shift()?.reject(error);
    }
    // One that is to take no runs any more is not asked to end before it has booted: it would look like a failed boot.
    host.borrow();
    line.usable.add(host);
    line.booting += 1;
    this.#boots.set(host, now);
    const ended = (): void => {
      host.giveBack();
      line.booting -= 1;
      this.#boots.delete(host);
    };
    host.booted.then(
      () => {
        ended();
        if (host.usable) this.offer(host);
        this.#boot();
      },
      (error: unknown) => {
        ended();
        line.waiters.shift()?.reject(error);
        this.forget(host);
      },
    );
  }
}

const stopping = (): Error => new Error("the agent is stopping");
