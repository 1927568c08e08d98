import { isOfThisServer, WORKER_PREFIX } from "./wake-keys.ts";

/** For the signal of a wait that nobody needs any more: without it, each would make an error with its stack, which nobody looks at. */
export const WAIT_OVER = "the wait is over";

/**
 * Who waits for what inside one replica: long polls, SSE readers, loops. A wake is a hint that something may be new;
 * whoever is woken reads the database. Wakes can be lost with the process, never the data.
 */
export type Wakes = {
  /**
   * Resolves true at the next wake of the key, false after the timeout or abort. Register before reading.
   * A worker's own key is remembered while nobody waits for it, because a worker is between two polls for a moment.
   */
  wait(key: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Hears every wake of the key until it is closed: for one who waits for it again and again. */
  listen(key: string): Listener;
  /**
   * Wakes local waiters and, through `onWake`, other servers, unless the key is of this one alone. `upTo` is the cursor of what is new when nothing else is:
   * a listener that has it already need not look.
   */
  wake(key: string, upTo?: number): void;
  /** Wakes local waiters only: what another server told. */
  wakeLocal(key: string): void;
  /** Wakes everyone: after a gap in what other replicas told. */
  wakeAll(): void;
  waiting(key: string): boolean;
  /** How often the key was woken since it was first asked for, which is remembered: for keys of which there are few. */
  woken(key: string): number;
};

export type Listener = {
  /**
   * Resolves at the next wake, at once when there was one since the last call, and after the timeout when one is given.
   * @returns the cursor up to which there is something to look for; infinity when anything may be new.
   */
  next(timeoutMs?: number): Promise<number>;
  /** As a wake, for this listener alone. */
  wake(upTo?: number): void;
  close(): void;
};

type Waiter = (woken: boolean) => void;

/** A wake that is not remembered is repaired by the worker's next renewal. */
const MAX_REMEMBERED = 10_000;

export function createWakes(onWake: (key: string) => void): Wakes {
  const waiters = new Map<string, Set<Waiter>>();
  const listeners = new Map<string, Set<Listener>>();
  const remembered = new Set<string>();
  const counts = new Map<string, number>();

  const wakeLocal = (key: string, upTo?: number): void => {
    const count = counts.get(key);
    if (count !== undefined) counts.set(key, count + 1);
    for (const listener of listeners.get(key) ?? []) listener.wake(upTo);
    const set = waiters.get(key);
    if (set === undefined) {
      if (key.startsWith(WORKER_PREFIX) && remembered.size < MAX_REMEMBERED) remembered.add(key);
      return;
    }
    waiters.delete(key);
    for (const waiter of set) waiter(true);
  };

  return {
    wait: (key, timeoutMs, signal) =>
      new Promise((resolve) => {
        if (remembered.delete(key)) return resolve(true);
        if (signal?.aborted === true) return resolve(false);
        let set = waiters.get(key);
        if (set === undefined) waiters.set(key, (set = new Set()));
        const own = set;
        const done: Waiter = (woken) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          own.delete(done);
          if (own.size === 0 && waiters.get(key) === own) waiters.delete(key);
          resolve(woken);
        };
        const onAbort = (): void => done(false);
        const timer = setTimeout(() => done(false), timeoutMs);
        signal?.addEventListener("abort", onAbort, { once: true });
        own.add(done);
      }),
    listen: (key) => {
      let set = listeners.get(key);
      if (set === undefined) listeners.set(key, (set = new Set()));
      const own = set;
      const listener = createListener(() => {
        own.delete(listener);
        if (own.size === 0 && listeners.get(key) === own) listeners.delete(key);
      });
      own.add(listener);
      return listener;
    },
    wake: (key, upTo) => {
      wakeLocal(key, upTo);
      if (!isOfThisServer(key)) onWake(key);
    },
    wakeLocal: (key) => wakeLocal(key),
    wakeAll: () => {
      for (const key of new Set([...waiters.keys(), ...listeners.keys(), ...counts.keys()])) wakeLocal(key);
    },
    waiting: (key) => waiters.has(key),
    woken: (key) => {
      const count = counts.get(key) ?? 0;
      counts.set(key, count);
      return count;
    },
  };
}

function createListener(close: () => void): Listener {
  let news: number | null = null;
  let resume: ((upTo: number) => void) | null = null;
  return {
    next: (timeoutMs) =>
      new Promise((resolve) => {
        const done = (upTo: number): void => {
          clearTimeout(timer);
          news = null;
          resume = null;
          resolve(upTo);
        };
        const timer =
          timeoutMs === undefined ? undefined : setTimeout(done, timeoutMs, Number.POSITIVE_INFINITY);
        resume = done;
        if (news !== null) done(news);
      }),
    wake: (upTo = Number.POSITIVE_INFINITY) => {
      news = Math.max(news ?? 0, upTo);
      resume?.(news);
    },
    close,
  };
}
