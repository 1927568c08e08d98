/** From 0 to 1; spreads the retries of many clients. */
export const randomFraction = (): number => Math.random();

const ID_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/** The id of a new message: random, as its first digit allows. */
export function newMessageId(): string {
  const digits = Array.from(crypto.getRandomValues(new Uint8Array(26)), (byte, index) =>
    ID_DIGITS.charAt(byte & (index === 0 ? 7 : 31)),
  );
  return `msg_${digits.join("")}`;
}

/** An idempotency key that nobody else has: 128 random bits. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
