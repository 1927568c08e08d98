import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Listener, Wakes } from "../core/feeds/wakes.ts";
import type { Queryable } from "../db/queryable.ts";
import type { Sql } from "../db/sql.ts";
import type { Clock } from "../clock.ts";
import type { LastAsked } from "../last-asked.ts";
import type { Timekeeper } from "../time/timekeeper.ts";
import { createDueLook } from "./look-for-due.ts";

/** Work that only the passing of time causes, or whose first try may have been lost with a process. */
export type LoopWork = {
  name: string;
  /** Between rounds; with `due` no more than a safeguard. */
  intervalMs: number;
  /** The same while the server is asked for nothing since the last round began, in which there was nothing to do. Of what nothing wakes. */
  unaskedIntervalMs?: number;
  /** A condition: there is something to do, so a round begins. All loops' are looked at in one statement. */
  due?: (now: number) => Sql;
  /**
   * What must be known before a round begins: that nobody's silence was missed, for what takes silence for death; that the
   * time is right, for what deletes by age. Default: nothing.
   */
  needs?: "watched-silence" | "settled-time";
  /** A wake of this key begins the next round at once. */
  wakeKey?: string;
  /**
   * The share of the time that rounds may take: after two long ones the next comes later. One alone may have waited for a database or a
   * machine that was asleep. Default: all of it.
   */
  maxShare?: number;
  /** @returns milliseconds until the next round when that is sooner than the interval. */
  run(round: Round): Promise<number | void>;
};

export type Round = {
  /** Aborted when the server stops, which waits for the round: one that may last for long ends then. */
  stopping: AbortSignal;
  log: Logger;
};

export type Loop = {
  /** Begins the next round at once, unless the last one failed. */
  wake(): void;
  stop(): Promise<void>;
};

export type LoopContext = {
  db: Queryable;
  clock: Clock;
  timekeeper: Pick<Timekeeper, "hasWatched" | "isSettled" | "hear">;
  lastAsked: LastAsked;
  leaseDurationMs: number;
  wakes: Wakes;
  log: Logger;
  random: () => number;
  /** Told of each round that ended. */
  noteRound: (loop: string, tookMs: number, failed: boolean) => void;
};

const MAX_BACKOFF_MS = 10_000;
/** How late it may be noticed that something is due. */
export const LOOK_INTERVAL_MS = 500;
/** A look is slow where it steps over dead rows that PostgreSQL cannot remove. */
const LOOK_SHARE = 0.05;
/** Between rounds of a loop that only finds what others have asked for, while nobody asks for anything. */
export const UNASKED_INTERVAL_MS = 10_000;
/** Between rounds of a loop that is woken when something is due. */
export const SAFEGUARD_MS = 30_000;

/** Starts loops. Those with `due` have their rounds when there is something for them, which is looked for together. */
export function startLoops(works: readonly LoopWork[], context: LoopContext): Loop[] {
  const started = works.map((work) => ({ work, loop: startLoop(work, context) }));
  const look = createDueLook(
    started.flatMap(({ work, loop }) =>
      work.due === undefined
        ? []
        : [{ due: work.due, mayBegin: () => mayBegin(work, context), wake: loop.wake }],
    ),
    context,
  );
  const looking = startLoop(
    { name: "look-for-due", intervalMs: LOOK_INTERVAL_MS, maxShare: LOOK_SHARE, run: look },
    context,
  );
  return [looking, ...started.map(({ loop }) => loop)];
}

function mayBegin({ needs }: LoopWork, { timekeeper, leaseDurationMs }: LoopContext): boolean {
  if (needs === "watched-silence") return timekeeper.hasWatched(leaseDurationMs);
  if (needs === "settled-time") return timekeeper.isSettled();
  return true;
}

/**
 * Runs work at an interval, jittered so that replicas spread out. Rounds never overlap; a failed round is logged and the
 * next ones come more slowly until one succeeds.
 */
function startLoop(work: LoopWork, context: LoopContext): Loop {
  const { wakes, lastAsked, log, noteRound } = context;
  const stopping = new AbortController();
  const { signal } = stopping;
  // A wake during a round begins the next one at once.
  const listener =
    work.wakeKey === undefined && work.due === undefined
      ? null
      : wakes.listen(work.wakeKey ?? `loop:${work.name}`);
  const pauses = createPauses(work, context, listener, signal);
  let failures = 0;
  let isWoken = false;
  const round = async (): Promise<number> => {
    const begun = performance.now();
    const wasWoken = isWoken;
    isWoken = false;
    const soonMs = await work.run({ stopping: signal, log });
    noteRound(work.name, performance.now() - begun, false);
    // What was due is done now, as if somebody had asked for it.
    if (wasWoken) lastAsked.note();
    return soonMs ?? Number.POSITIVE_INFINITY;
  };
  const loop = async (): Promise<void> => {
    await pauses.first();
    while (!signal.aborted) {
      const begun = performance.now();
      try {
        const soonMs = mayBegin(work, context) ? await round() : Number.POSITIVE_INFINITY;
        failures = 0;
        await pauses.after(begun, soonMs);
      } catch (error) {
        noteRound(work.name, performance.now() - begun, true);
        failures = Math.min(failures + 1, 10);
        log.warn({ err: error, loop: work.name, failures }, "loop round failed");
        await pauses.afterFailures(failures);
      }
    }
  };
  const ended = loop().finally(() => listener?.close());
  return {
    wake: () => {
      if (failures > 0) return;
      isWoken = true;
      listener?.wake();
    },
    stop: async () => {
      stopping.abort();
      listener?.wake();
      await ended;
    },
  };
}

/** Those between the rounds of a loop. A wake ends one early. */
function createPauses(
  work: LoopWork,
  { lastAsked, random }: LoopContext,
  listener: Listener | null,
  signal: AbortSignal,
) {
  // Aborted only by the stop, which the loop looks for itself.
  const rest = (delayMs: number): Promise<void> =>
    sleep(delayMs, undefined, { signal }).catch(() => undefined);
  const pause = async (delayMs: number): Promise<void> => {
    if (listener !== null) await listener.next(delayMs);
    else await rest(delayMs);
  };
  const intervalMs = (): number => untilTick(jittered(work.intervalMs, random));
  let lastTookMs = 0;
  return {
    first: (): Promise<void> => pause(intervalMs()),
    /** @param soonMs until the next round; infinity: there was nothing to do in the one that began at `begun` */
    after: async (begun: number, soonMs: number): Promise<void> => {
      const tookMs = performance.now() - begun;
      const longMs = Math.min(tookMs, lastTookMs);
      lastTookMs = tookMs;
      const leastMs = longMs / (work.maxShare ?? 1) - longMs;
      await pause(Math.max(leastMs, Math.min(intervalMs(), soonMs)));
      if (soonMs < Number.POSITIVE_INFINITY) return;
      const until = begun + (work.unaskedIntervalMs ?? 0);
      while (!signal.aborted && performance.now() < until && lastAsked.at() < begun)
        await pause(intervalMs());
    },
    afterFailures: async (failures: number): Promise<void> => {
      const usualMs = work.due === undefined ? work.intervalMs : LOOK_INTERVAL_MS;
      const pauseMs = Math.min(MAX_BACKOFF_MS, jittered(usualMs, random) * 2 ** failures);
      // A wake may cut the pause short, as when the database is back, but not to nothing: what fails is woken over and over.
      const leastMs = Math.min(pauseMs, LOOK_INTERVAL_MS);
      await rest(leastMs);
      if (!signal.aborted && pauseMs > leastMs) await pause(pauseMs - leastMs);
    },
  };
}

const jittered = (intervalMs: number, random: () => number): number => intervalMs * (0.9 + random() * 0.2);

/** Of longer pauses: what many loops do at one moment wakes a server that has nothing else to do once, and not once for each. */
const TICK_MS = 250;

/** The pause that ends at the tick which is nearest to its end. Ticks are counted from the start of the process. */
function untilTick(pauseMs: number): number {
  if (pauseMs < TICK_MS) return pauseMs;
  const now = performance.now();
  return Math.round((now + pauseMs) / TICK_MS) * TICK_MS - now;
}
