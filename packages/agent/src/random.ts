/** A number from 0 (included) to 1 (excluded); decides only how far retries are spread. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();
