/** Milliseconds since the epoch. Passed in, so that decisions are pure and tests own time. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
