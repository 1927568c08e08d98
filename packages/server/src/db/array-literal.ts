// Writes arrays for PostgreSQL. The driver does so too, but escapes every element by two regular expressions; hot
// statements take thousands of ids, numbers and short words, which need no escape.

const PLAIN = /^[A-Za-z0-9_.:+-]+$/;

/** What an array may hold. */
export type ArrayElement = string | number | boolean | bigint | Buffer | null | undefined;

function element(value: ArrayElement): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString("hex")}"`;
  // The bare word NULL means null.
  if (value.length <= 64 && PLAIN.test(value) && value.toUpperCase() !== "NULL") return value;
  return `"${value.includes("\\") || value.includes('"') ? value.replace(/["\\]/g, "\\$&") : value}"`;
}

/** The text form of a one-dimensional array: of text, numbers, booleans, ids, bytes and nulls. */
export function arrayLiteral(values: readonly ArrayElement[]): string {
  let literal = "{";
  for (let i = 0; i < values.length; i += 1) {
    if (i > 0) literal += ",";
    literal += element(values[i]);
  }
  return `${literal}}`;
}
