/** From 0 to 1; spreads the retries of many clients. */
export const randomFraction = (): number => Math.random();
