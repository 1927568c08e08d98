// What time it is, and since when nobody could have been missed.
//
// Silence is a sign of death only to somebody who listened. A server that slept, was stopped or did not hear PostgreSQL
// has heard nobody meanwhile, so it listens for a whole lease before it takes any lease for lost.

import type { Reading } from "../db/read-time.ts";
import { systemClock, type Clock } from "../clock.ts";
import { createDatabaseTime, STEP_MS } from "./database-time.ts";
import { describeClock } from "./describe-clock.ts";

export interface Timekeeper {
  /** PostgreSQL's time: of every stored instant, and of every comparison with one. */
  readonly now: Clock;
  /** Takes a reading of PostgreSQL's clock into account. Another is due within `HEARD_EVERY_MS`. */
  hear(reading: Reading): void;
  /** Says that this process has its turn. Due within `TICK_EVERY_MS`. */
  tick(): void;
  /** Whether this server and PostgreSQL were there for as long as this, up to now, without a gap. */
  hasWatched(ms: number): boolean;
  /** Whether the time is certain enough for what cannot be undone: no, for a while after PostgreSQL's clock was set. */
  isSettled(): boolean;
  /** By how many milliseconds the clock of this machine is ahead of PostgreSQL's; negative: behind. */
  wallClockAheadMs(): number;
  /** What is wrong with that, when it is more than a time service leaves, and what to do; else null. */
  wallClockProblem(): string | null;
}

export interface TimekeeperOptions {
  readonly first: Reading;
  /** Milliseconds that never run backwards. Default: the process's. */
  readonly monotonic?: () => number;
  /** Milliseconds since the epoch. Default: the machine's clock. */
  readonly wall?: Clock;
  /** Told when PostgreSQL's clock was set, or this machine slept. */
  readonly onStep?: (byMs: number) => void;
  /** Told when this server or PostgreSQL is found to have been away, and for how many milliseconds by then. */
  readonly onGap?: (ms: number) => void;
  /** Told when the machine's clock goes wrong, and when it is right again. */
  readonly onWallClock?: (aheadMs: number, isWrong: boolean) => void;
}

/** How often PostgreSQL's clock is read at least, while it can be. */
export const HEARD_EVERY_MS = 2_000;
/** How often a process says that it has its turn. */
export const TICK_EVERY_MS = 500;
/** A look that comes later than this was held up: the process was stopped, or had no processor. */
const LATE_MS = 2_000;
/**
 * How long a time that PostgreSQL's clock leapt to has to stand before something is deleted by it. Who set it wrongly has
 * this long to see what went wrong; what is kept for days can be kept for an hour more.
 */
export const SETTLING_MS = 3_600_000;
/** A clock that leapt by less makes nothing old that was not nearly so. */
const UNSETTLING_STEP_MS = 60_000;

export function createTimekeeper(options: TimekeeperOptions): Timekeeper {
  const { monotonic = () => performance.now(), wall = systemClock } = options;
  const time = createDatabaseTime(monotonic, options.first);
  let tickedAt = monotonic();
  let heardAt = options.first.answeredAt;
  let watchedSince = monotonic();
  let settledFrom = Number.NEGATIVE_INFINITY;
  let wasWallWrong = false;

  let isAbsent = false;

  // Also by whoever asks: after a sleep, a question may come before the tick.
  const noticeAbsence = (): void => {
    const now = monotonic();
    const absentMs = Math.max(now - tickedAt - TICK_EVERY_MS, now - heardAt - HEARD_EVERY_MS);
    const wasAbsent = isAbsent;
    tickedAt = now;
    isAbsent = absentMs > LATE_MS;
    if (!isAbsent) return;
    watchedSince = now;
    if (!wasAbsent) options.onGap?.(absentMs);
  };
  const wallClockAheadMs = (): number => wall() - time.now();
  const isWallClockWrong = (): boolean => Math.abs(wallClockAheadMs()) > STEP_MS;
  const lookAtWall = (): void => {
    if (isWallClockWrong() === wasWallWrong) return;
    wasWallWrong = !wasWallWrong;
    options.onWallClock?.(wallClockAheadMs(), wasWallWrong);
  };
  return {
    now: time.now,
    hear: (reading) => {
      noticeAbsence();
      heardAt = reading.answeredAt;
      const byMs = time.correct(reading);
      if (byMs !== 0) {
        watchedSince = monotonic();
        if (Math.abs(byMs) > UNSETTLING_STEP_MS) settledFrom = monotonic() + SETTLING_MS;
        options.onStep?.(byMs);
      }
      lookAtWall();
    },
    tick: noticeAbsence,
    hasWatched: (ms) => {
      noticeAbsence();
      return monotonic() - watchedSince >= ms;
    },
    isSettled: () => monotonic() >= settledFrom,
    wallClockAheadMs,
    wallClockProblem: () => (isWallClockWrong() ? describeClock(wallClockAheadMs()) : null),
  };
}

/** A clock that is believed as it is: nobody is ever away from it. For a time that somebody else owns. */
export const trustClock = (clock: Clock): Timekeeper => ({
  now: clock,
  hear: () => undefined,
  tick: () => undefined,
  hasWatched: () => true,
  isSettled: () => true,
  wallClockAheadMs: () => 0,
  wallClockProblem: () => null,
});
