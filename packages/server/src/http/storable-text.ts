import type { ErrorIssue } from "@keelson/contract";

/** What the edge knows of a JSON body's text. */
export type BodyText = { sizeBytes: number; mayBeUnstorable: boolean };

const UNUSUAL_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether the JSON text has an escape of NUL or of a surrogate: only then is it worth looking at the strings. */
export const mayBeUnstorable = (json: string): boolean => UNUSUAL_ESCAPE.test(json);

type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
};

/**
 * Looks for NUL or half a surrogate pair in the strings that the schema declares: those become columns, and PostgreSQL
 * has no text for them; in a batch, one such string would fail the starts of others. Free JSON (a payload, metadata) may
 * hold them, because it is stored as JSON text with its escapes.
 */
export function findUnstorableText(schema: unknown, value: unknown, path = ""): ErrorIssue | null {
  const { type, properties, patternProperties, items, anyOf } = schema as Schema;
  if (typeof value === "string") {
    const isDeclared = type === "string" || (anyOf ?? []).some((branch) => branch.type === "string");
    if (!isDeclared || (value.isWellFormed() && !value.includes("\u0000"))) return null;
    return { path, message: "holds NUL or half of a surrogate pair; remove it" };
  }
  if (typeof value !== "object" || value === null) return null;
  for (const branch of anyOf ?? []) {
    const found = findUnstorableText(branch, value, path);
    if (found !== null) return found;
  }
  if (Array.isArray(value)) {
    if (items === undefined) return null;
    for (const [index, item] of value.entries()) {
      const found = findUnstorableText(items, item, join(path, String(index)));
      if (found !== null) return found;
    }
    return null;
  }
  const ofAnyKey = Object.values(patternProperties ?? {})[0];
  for (const [key, item] of Object.entries(value)) {
    const declared = properties?.[key] ?? ofAnyKey;
    if (declared === undefined) continue;
    const found = findUnstorableText(declared, item, join(path, key));
    if (found !== null) return found;
  }
  return null;
}

const join = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);
