/** Where the agent's time comes from. Timers are the runtime's own; only reading the clock is passed in. */
export type Clock = {
  /** Milliseconds since the epoch, for timestamps on the wire. */
  now(): number;
  /** Milliseconds that never run backwards, for lease validity and deadlines. */
  monotonic(): number;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
