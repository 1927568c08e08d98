/** A parsed JSON value as RFC 8785 writes it: keys in the order of their UTF-16 code units, the rest as ECMAScript does. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, of]) => `${JSON.stringify(key)}:${canonicalJson(of)}`).join(",")}}`;
}
