import { TransientMap } from "@keelson/contract/transient-map";
import { hostKey, type HostSpec } from "./host-key.ts";
import type { WaitingRun } from "./host-run.ts";
import { QUEUE_MS, RunPace } from "./run-pace.ts";
import type { TaskHost } from "./task-host.ts";

/** How long a run waits for a process that is busy or boots before another one is booted for it. */
const PATIENCE_MS = 20;
/** The same on a machine without time to spare, where one more process only makes the others slower. */
const BUSY_PATIENCE_MS = 500;
/** Where runs come and wait for as long as so many boots take, one more process is worth its boot, although none of them waits for long. */
const WORTH_BOOTS = 10;
/** No longer than that, however long a bundle takes to load. */
const WORTH_MS = 2_000;
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

/** A run that has not begun. */
type Waiter = {
  run: WaitingRun;
  since: number;
  /** The process that it was given to, behind others. */
  host: TaskHost | null;
  line: Line;
  isWithdrawn: boolean;
  /** It has begun, or was withdrawn. */
  resolve(): void;
  reject(error: unknown): void;
};

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
  /** What the last one took, in milliseconds. */
  bootMs: number;
  /** Since when there are waiters. */
  wantedSince: number;
  pace: RunPace;
};

/** A process that has runs. */
type Busy = {
  /** Since when it is at the one that it has begun last, as far as is known. */
  since: number;
  /** Looks whether those behind it wait for too long. */
  timer: NodeJS.Timeout | null;
};

/**
 * Has one run at a time in each process. A run takes the first process of its key that is free, whoever it was booted for; one
 * more is booted when there is none at all, or when a run has waited for a while. So short runs share a few warm
 * processes, and long ones get as many as run at once.
 *
 * While runs are short, one that finds no free process is given to a busy one, which begins it behind its own without a word of the
 * agent between them. On a machine without time to spare that is done also where others are free: to wake a process takes longer than
 * such a run. Those behind a run that takes longer are taken back soon.
 */
export class ExclusiveHosts {
  readonly #options: ExclusiveHostsOptions;
  readonly #lines = new Map<string, Line>();
  /** By the ids of their runs. */
  readonly #waiters = new TransientMap<string, Waiter>();
  readonly #busy = new Map<TaskHost, Busy>();
  /** When each boot that is under way began. */
  readonly #boots = new Map<TaskHost, number>();
  #timer: NodeJS.Timeout | null = null;
  #isStarting = false;
  #begins = true;
  #closed = false;

  constructor(options: ExclusiveHostsOptions) {
    this.#options = options;
  }

  /** Resolves when the run has begun or was withdrawn; rejects with what a boot ended with that was for it. */
  begin(spec: HostSpec, run: WaitingRun): Promise<void> {
    if (this.#closed) return Promise.reject(stopping());
    const line = this.#lineOf(spec);
    return new Promise((resolve, reject) => {
      const since = this.#options.monotonic();
      const waiter: Waiter = { run, since, host: null, line, isWithdrawn: false, resolve, reject };
      this.#waiters.set(run.id, waiter);
      this.#wait(waiter);
      this.#serve(line);
    });
  }

  /** It begins no more, if it has not begun until now. */
  withdraw(run: WaitingRun): void {
    const waiter = this.#waiters.get(run.id);
    if (waiter === undefined) return;
    waiter.isWithdrawn = true;
    // It has begun in there, or it comes back.
    if (waiter.host !== null) return waiter.host.takeBack();
    waiter.line.waiters = waiter.line.waiters.filter((other) => other !== waiter);
    this.#drop(waiter);
  }

  #wait(waiter: Waiter): void {
    const { line } = waiter;
    if (line.waiters.length === 0) line.wantedSince = this.#options.monotonic();
    line.waiters.push(waiter);
  }

  #drop(waiter: Waiter): void {
    this.#waiters.delete(waiter.run.id);
    waiter.resolve();
  }

  begun(run: WaitingRun): void {
    const waiter = this.#waiters.get(run.id);
    if (waiter !== undefined) this.#drop(waiter);
  }

  /** A process will not begin these, which come before all others again. */
  returned(host: TaskHost, runs: readonly WaitingRun[]): void {
    const line = this.#lineOf(host.spec);
    const waiters = runs.flatMap((run) => this.#waiters.get(run.id) ?? []);
    for (const waiter of waiters) {
      [waiter.host, waiter.line] = [null, line];
      host.giveBack();
      if (waiter.isWithdrawn) this.#drop(waiter);
      else if (this.#closed) waiter.reject(stopping());
      else this.#wait(waiter);
    }
    line.waiters.sort((a, b) => a.since - b.since);
    // It may have ended its own before.
    if (host.usable && host.free) this.offer(host);
    else this.#serve(line);
  }

  /** How many runs wait for it, or for any of its key, while the machine has no time to spare for one more. */
  demandFor({ key, load }: TaskHost): number {
    const line = this.#lines.get(key);
    if (line === undefined || this.#options.hasSpareCpu()) return 0;
    return line.waiters.length + Math.max(0, load - 1);
  }

  /** Adds a host that was started elsewhere and is lent. */
  adopt(host: TaskHost): void {
    this.#lineOf(host.spec).usable.add(host);
  }

  /** A run of it has ended. */
  ended(host: TaskHost): void {
    const busy = this.#busy.get(host);
    if (busy === undefined) return;
    const now = this.#options.monotonic();
    this.#lineOf(host.spec).pace.took(now - busy.since);
    busy.since = now;
  }

  /** Nobody has it any more, and it may take runs. */
  offer(host: TaskHost): void {
    const line = this.#lineOf(host.spec);
    this.#rest(host);
    line.idle.push(host);
    this.#serve(line);
    if (line.idle.at(-1) === host) this.#options.idle(host);
  }

  /** It takes no more runs. */
  forget(host: TaskHost): void {
    this.#rest(host);
    const line = this.#lines.get(host.key);
    if (line !== undefined) {
      line.usable.delete(host);
      line.idle = line.idle.filter((other) => other !== host);
      if (line.usable.size === 0 && line.waiters.length === 0) this.#lines.delete(line.key);
    }
    this.#boot();
  }

  /** What has not begun waits until it is withdrawn. */
  beginNoMore(): void {
    this.#begins = false;
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
    const line: Line = {
      ...{ key, spec, waiters: [], idle: [], usable: new Set(), pace: new RunPace() },
      ...{ booting: 0, bootMs: 0, wantedSince: 0 },
    };
    this.#lines.set(key, line);
    return line;
  }

  /** Gives those that wait to processes, as far as there are any for them. */
  #serve(line: Line): void {
    if (this.#closed || !this.#begins) return;
    for (let [waiter] = line.waiters; waiter !== undefined; [waiter] = line.waiters)
      if (!this.#place(waiter, line)) return this.#boot();
  }

  #place(waiter: Waiter, line: Line): boolean {
    const spares = this.#options.hasSpareCpu();
    const soonFree = spares && line.idle.length > 0 ? null : this.#soonFree(line, spares);
    line.waiters.shift();
    if (soonFree !== null && this.#giveTo(soonFree, waiter)) {
      const busy = this.#busy.get(soonFree);
      if (busy !== undefined) this.#watch(soonFree, busy);
      return true;
    }
    const free = line.idle.pop();
    if (free === undefined) {
      line.waiters.unshift(waiter);
      return false;
    }
    this.#options.taken(free);
    this.#busy.set(free, { since: this.#options.monotonic(), timer: null });
    return this.#giveTo(free, waiter);
  }

  /** False when it takes none behind its own. */
  #giveTo(host: TaskHost, waiter: Waiter): boolean {
    waiter.host = host;
    host.borrow();
    if (host.give(waiter.run)) return true;
    waiter.host = null;
    host.giveBack();
    return false;
  }

  /** A busy process that has soon done what it has: the one that has most to do, or least where there is time to spare. */
  #soonFree({ usable, pace }: Line, spares: boolean): TaskHost | null {
    const { most } = pace;
    if (most === 1) return null;
    const since = this.#options.monotonic() - QUEUE_MS;
    let best: TaskHost | null = null;
    for (const host of usable) {
      const isSoonFree = host.load < most && (this.#busy.get(host)?.since ?? 0) > since;
      if (host.load === 0 || !isSoonFree || !host.takesBehind) continue;
      if (best === null || (spares ? host.load < best.load : host.load > best.load)) best = host;
    }
    return best;
  }

  /**
   * While something waits in it: takes that back when the run before it takes too long. By that it is also known of one that has
   * begun and says nothing.
   */
  #watch(host: TaskHost, busy: Busy): void {
    busy.timer ??= setTimeout(() => {
      busy.timer = null;
      if (![...this.#waiters.values()].some((waiter) => waiter.host === host)) return;
      const tookMs = this.#options.monotonic() - busy.since;
      if (tookMs < PATIENCE_MS) return this.#watch(host, busy);
      this.#lineOf(host.spec).pace.takes(tookMs);
      host.takeBack();
    }, PATIENCE_MS);
  }

  #rest(host: TaskHost): void {
    const timer = this.#busy.get(host)?.timer;
    if (timer) clearTimeout(timer);
    this.#busy.delete(host);
  }

  #refuse(line: Line, error: unknown): void {
    const waiter = line.waiters.shift();
    if (waiter === undefined) return;
    this.#waiters.delete(waiter.run.id);
    waiter.reject(error);
  }

  /** Boots what is wanted now, for who has waited longest, and looks again soon while somebody waits for more. */
  #boot(): void {
    // Making room for a host forgets another one, which would look for a boot again.
    if (this.#closed || !this.#begins || this.#isStarting) return;
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
      const line = this.#longest(
        (wanting, since) =>
          wanting.usable.size === 0 || (now - since >= patience && !this.#areSoonBegun(wanting, now)),
      );
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

  /** The processes that are there come to all that wait before one that is booted now could begin. */
  #areSoonBegun({ usable, waiters, pace, bootMs, wantedSince }: Line, now: number): boolean {
    if (now - wantedSince >= Math.min(WORTH_BOOTS * bootMs, WORTH_MS)) return false;
    let [hosts, runs, runMs] = [0, waiters.length, pace.meanMs];
    for (const host of usable) {
      const busy = this.#busy.get(host);
      if (busy === undefined) continue;
      hosts += 1;
      runs += host.load;
      runMs = Math.max(runMs, now - busy.since);
    }
    return hosts > 0 && (runs * runMs) / hosts < bootMs;
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
      return this.#refuse(line, error);
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
        line.bootMs = this.#options.monotonic() - now;
        if (host.usable) this.offer(host);
        this.#boot();
      },
      (error: unknown) => {
        ended();
        this.#refuse(line, error);
        this.forget(host);
      },
    );
  }
}

const stopping = (): Error => new Error("the agent is stopping");
