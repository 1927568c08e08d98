import type { MetadataChange } from "@keelson/contract";

export type MetadataResult = { ok: true; metadata: string } | { ok: false; message: string };

/** Applies changes in order to metadata given and returned as JSON text. Refuses what does not fit the present value. */
export function applyMetadataChanges(before: string, changes: readonly MetadataChange[]): MetadataResult {
  // A map, so that a key such as `__proto__` is a key like any other.
  const metadata = new Map<string, unknown>(Object.entries(JSON.parse(before) as Record<string, unknown>));
  for (const { op, key, value } of changes) {
    const present = metadata.get(key);
    switch (op) {
      case "set":
        if (value === undefined) return { ok: false, message: `changes.${key}: set needs a value.` };
        metadata.set(key, value);
        break;
      case "remove":
        metadata.delete(key);
        break;
      case "increment":
        if (typeof value !== "number" || (present !== undefined && typeof present !== "number")) {
          return {
            ok: false,
            message: `changes.${key}: increment needs a number, and a number (or nothing) to add it to.`,
          };
        }
        // JSON has no infinity: it would be stored as null.
        if (!Number.isFinite((present ?? 0) + value))
          return { ok: false, message: `changes.${key}: the sum is more than a number holds.` };
        metadata.set(key, (present ?? 0) + value);
        break;
      case "append":
        if (value === undefined || (present !== undefined && !Array.isArray(present))) {
          return {
            ok: false,
            message: `changes.${key}: append needs a value, and a list (or nothing) to add it to.`,
          };
        }
        metadata.set(key, [...((present as unknown[] | undefined) ?? []), value]);
        break;
    }
  }
  return { ok: true, metadata: JSON.stringify(Object.fromEntries(metadata)) };
}
