/** Dollars for people: cents, and three digits of what is less than ten cents, because calls of models cost fractions of a cent. */
export const formatUsd = (usd: number): string =>
  usd.toLocaleString("en", {
    ...{ style: "currency", currency: "USD" },
    ...(usd > 0 && usd < 0.1 && { maximumSignificantDigits: 3 }),
  });
