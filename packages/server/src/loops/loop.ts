import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Wakes } from "../core/feeds/wakes.ts";
import type { Queryable } from "../db/queryable.ts";
import { READ_TIME } from "../db/read-time.ts";
import { joinSql, rawSql, sql, type Sql } from "../db/sql.ts";
import type { Clock } from "../clock.ts";
import type { Timekeeper } from "../time/timekeeper.ts";

/** Work that only the passing of time causes, or whose first try may have been lost with a process. */
export type LoopWork = {
  name: string;
  /** Between rounds; with `due` no more than a safeguard. */
  intervalMs: number;
  /** A condition: there is something to do, so a round begins. All loops' are looked at in one statement. */
  due?: (now: number) => Sql;
  /**
   * What must be known before a round begins: that nobody's silence was missed, for what takes silence for death; that the
   * time is right, for what deletes by age. Default: nothing.
   */
  needs?: "watched-silence" | "settled-time";
  /** A wake of this key begins the next round at once. */
  wakeKey?: string;
  /** The share of the time that rounds may take: after a long one the next comes later. Default: all of it. */
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
/** Between rounds of a loop that is woken when something is due. */
export const SAFEGUARD_MS = 30_000;

/**
 * Starts loops. What is due of any of them is looked for in one statement, so that a server with nothing to do costs
 * next to nothing; each has its rounds when there is something for it. The statement asks for the time too: the connection
 * that hears notifications, which does so as well, may be away for long while the server is not.
 */
export function startLoops(works: readonly LoopWork[], context: LoopContext): Loop[] {
  const { db, clock, timekeeper } = context;
  const started = works.map((work) => ({ work, loop: startLoop(work, context) }));
  const lookedFor = started.flatMap(({ work, loop }) =>
    work.due === undefined ? [] : [{ work, due: work.due, loop }],
  );
  const look = async (): Promise<void> => {
    const now = clock();
    const looked = lookedFor.filter(({ work }) => mayBegin(work, context));
    const rows = looked.map(({ due }, index) => sql`(${index}::integer, ${due(now)})`);
    const askedAt = performance.now();
    const found = await db.query<{ index: number | null; ms: number | null }>(sql`
      SELECT d.index, NULL AS ms FROM (VALUES ${joinSql(rows, ", ")}) AS d (index, is_due) WHERE d.is_due
      UNION ALL SELECT NULL, (${rawSql(READ_TIME)})`);
    for (const { index, ms } of found) {
      if (ms !== null) timekeeper.hear({ askedAt, answeredAt: performance.now(), databaseMs: ms });
      if (index !== null) looked[index]?.loop.wake();
    }
  };
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
  const { wakes, log, random, noteRound } = context;
  const stopping = new AbortController();
  const { signal } = stopping;
  // A wake during a round begins the next one at once.
  const listener =
    work.wakeKey === undefined && work.due === undefined
      ? null
      : wakes.listen(work.wakeKey ?? `loop:${work.name}`);
  let failures = 0;
  // Aborted only by the stop, which the loop looks for itself.
  const rest = (delayMs: number): Promise<void> =>
    sleep(delayMs, undefined, { signal }).catch(() => undefined);
  const pause = async (delayMs: number): Promise<void> => {
    if (listener !== null) await listener.next(delayMs);
    else await rest(delayMs);
  };
  const failed = async (error: unknown): Promise<void> => {
    failures = Math.min(failures + 1, 10);
    log.warn({ err: error, loop: work.name, failures }, "loop round failed");
    const intervalMs = work.due === undefined ? work.intervalMs : LOOK_INTERVAL_MS;
    const pauseMs = Math.min(MAX_BACKOFF_MS, jittered(intervalMs, random) * 2 ** failures);
    // A wake may cut the pause short, as when the database is back, but not to nothing: what fails is woken over and over.
    const leastMs = Math.min(pauseMs, LOOK_INTERVAL_MS);
    await rest(leastMs);
    if (!signal.aborted && pauseMs > leastMs) await pause(pauseMs - leastMs);
  };
  const loop = async (): Promise<void> => {
    await pause(untilTick(jittered(work.intervalMs, random)));
    while (!signal.aborted) {
      const begun = performance.now();
      try {
        const mayRun = mayBegin(work, context);
        const soonMs =
          (mayRun ? await work.run({ stopping: signal, log }) : undefined) ?? Number.POSITIVE_INFINITY;
        const tookMs = performance.now() - begun;
        if (mayRun) noteRound(work.name, tookMs, false);
        failures = 0;
        const leastMs = tookMs / (work.maxShare ?? 1) - tookMs;
        await pause(Math.max(leastMs, Math.min(untilTick(jittered(work.intervalMs, random)), soonMs)));
      } catch (error) {
        noteRound(work.name, performance.now() - begun, true);
        await failed(error);
      }
    }
  };
  const ended = loop().finally(() => listener?.close());
  return {
    wake: () => {
      if (failures === 0) listener?.wake();
    },
    stop: async () => {
      stopping.abort();
      listener?.wake();
      await ended;
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
