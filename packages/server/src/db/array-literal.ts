// Writes arrays for PostgreSQL. The driver does so too, but escapes every element by two regular expressions; hot
// statements take thousands of ids, numbers and short words, which need no escape.

const PLAIN = /^[A-Za-z0-9_.:+-]+$/;

function element(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString("hex")}"`;
  const text = String(value);
  // The bare word NULL means null.
  if (text.length <= 64 && PLAIN.test(text) && text.toUpperCase() !== "NULL") return text;
  return `"${text.includes("\\") || text.includes('"') ? text.replace(/["\\]/g, "\\$&") : text}"`;
}

/** The text form of a one-dimensional array: of text, numbers, booleans, ids, bytes and nulls. */
export function arrayLiteral(values: readonly unknown[]): string {
  let literal = "{";
  for (let i = 0; i < values.length; i += 1) {
    if (i > 0) literal += ",";
    literal += element(values[i]);
  }
  return `${literal}}`;
}
