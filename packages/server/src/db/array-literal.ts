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
  if (value.length <= 64 && PLAIN.test(value) && !isNull(value)) return value;
  return `"${value.includes("\\") || value.includes('"') ? value.replace(/["\\]/g, "\\$&") : value}"`;
}

/** The bare word means null, in any case. */
const isNull = (word: string): boolean => word.length === 4 && word.toUpperCase() === "NULL";

/** The text form of a one-dimensional array: of text, numbers, booleans, ids, bytes and nulls. */
export function arrayLiteral(values: readonly ArrayElement[]): string {
  return `{${values.map(element).join()}}`;
}
