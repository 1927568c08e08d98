/** A number in [0, 1), for jitter. Passed in, so that decisions are pure and tests own chance. */
export const systemRandom = (): number => Math.random();
