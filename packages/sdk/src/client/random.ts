/** From 0 to 1; spreads the retries of many clients. */
export const randomFraction = (): number => Math.random();

/** An idempotency key that nobody else has: 128 random bits. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
