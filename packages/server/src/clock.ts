/** Milliseconds since the epoch. Passed in, so that decisions are pure and tests own time. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** What was written at a time so far after now was written by a clock that was ahead, and set back since. */
export const CLOCK_LEAD_MS = 60_000;

/**
 * Whether something is trusted still, of which this much of its time is left. More than all of it is left after the clock
 * was set back: then it is not trusted either, or it would be until the clock has caught up.
 */
export const isWithin = (leftMs: number, trustedMs: number): boolean => leftMs > 0 && leftMs <= trustedMs;
