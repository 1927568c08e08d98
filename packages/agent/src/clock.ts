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

/** Times as the wire writes them. Hundreds of operations are made in one millisecond; their text is made once. */
export function createTimestamps(clock: Clock): () => string {
  let lastMs = Number.NaN;
  let text = "";
  return () => {
    const ms = clock.now();
    if (ms !== lastMs) {
      lastMs = ms;
      text = new Date(ms).toISOString();
    }
    return text;
  };
}
