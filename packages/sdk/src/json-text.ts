import { JSON_DEPTH } from "@keelson/contract/plain";
import { UsageError } from "./keelson-error.ts";

/**
 * Of all texts, `JSON.stringify` writes only these with a value in them that it has changed or that cannot be stored: null
 * for a number that is not finite, an empty object for a collection, a promise or an error, an escape for NUL and for half of a surrogate pair.
 */
const DOUBTFUL = /null|\{\}|\\u(?:0000|d[89a-f])/;

/** A UsageError that names what is not JSON. */
export class NotJsonError extends UsageError {}

/**
 * The JSON text of a value, as `JSON.stringify` writes it; undefined when there is none. It is I-JSON (RFC 7493), and has
 * what the value has: a number that is not finite, a Map, a Set, a Promise, an Error without properties, NUL and half of a surrogate pair are refused like a cycle.
 * Most values are written once and looked at no further.
 *
 * Throws a NotJsonError that says what is not JSON, where, and what to do. `root` names the value in that place.
 */
export function toJsonText(value: unknown, root: string): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new NotJsonError(findUnwritable(value, root) ?? String(cause), { cause });
  }
  if (text === undefined || !DOUBTFUL.test(text)) return text;
  return JSON.stringify(value, createCheck(root));
}

/** The text of a request's body. Throws as `toJsonText` does, with the path in the body. */
export function toRequestText(body: unknown): string {
  try {
    return toJsonText(body, "") ?? "null";
  } catch (cause) {
    throw new NotJsonError(`The body of the request is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** What is wrong with a text, or null. */
function findOddText(text: string): string | null {
  if (text.includes("\0")) return "NUL";
  return text.isWellFormed() ? null : "half of a surrogate pair";
}

/** Throws a UsageError for a text, such as a name, that cannot be stored as it is. */
export function checkText(text: string, what: string): void {
  const odd = findOddText(text);
  if (odd !== null) throw new NotJsonError(`${what} has ${odd}: "${printable(text)}"; remove it`);
}

const printable = (text: string): string => text.replaceAll("\0", "\uFFFD").toWellFormed();

const join = (path: string, key: string, holder: unknown): string => {
  if (Array.isArray(holder)) return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
};

/** Why `JSON.stringify` throws: the path of the first big integer or of the first object inside itself. */
function findUnwritable(root: unknown, name: string): string | null {
  const find = (value: unknown, path: string, above: readonly unknown[]): string | null => {
    if (typeof value === "bigint") return `a BigInt at ${printable(path)}; use a text`;
    if (typeof value !== "object" || value === null) return null;
    if (above.includes(value)) return `a cycle at ${printable(path)}`;
    if (above.length > JSON_DEPTH) return `more than ${JSON_DEPTH} levels at ${printable(path)}`;
    for (const [key, part] of Object.entries(value)) {
      const found = find(part, join(path, key, value), [...above, value]);
      if (found !== null) return found;
    }
    return null;
  };
  try {
    return find(root, name, []);
  } catch {
    return "a property that cannot be read";
  }
}

type Holder = Record<string, unknown>;
type Finding = { what: string; advice: string };

const REMOVE = "remove it, or send bytes as base64";

/** A replacer that replaces nothing: it sees each value as it is about to be written, and what holds it. */
function createCheck(root: string): (this: Holder, key: string, value: unknown) => unknown {
  /**
   * From the object that `JSON.stringify` puts around the root to the holder of what is written, each with its own key.
   */
  const above: { holder: unknown; key: string }[] = [];
  return function (this: Holder, key, value) {
    while (above.length > 0 && above.at(-1)?.holder !== this) above.pop();
    const isRoot = above.length === 0;
    if (isRoot) above.push({ holder: this, key: "" });
    const oddKey = isRoot ? null : findOddText(key);
    const found =
      oddKey === null ? describeOdd(value, this, key) : { what: `${oddKey} in a key`, advice: REMOVE };
    if (found !== null) {
      const keys = isRoot ? [] : [...above.slice(2).map((each) => each.key), key];
      const path = keys.reduce((begun, each, i) => join(begun, each, above[i + 1]?.holder), root);
      throw new NotJsonError(`${found.what} at ${printable(path) || "the root"}; ${found.advice}`);
    }
    if (typeof value === "object" && value !== null) above.push({ holder: value, key });
    return value;
  };
}

/** What is written as an object without what it has, and what to use instead. */
const LOST = [
  [Map, "use Object.fromEntries(map) or [...map]"],
  [Set, "use [...set]"],
  [Promise, "await it"],
  [Error, "use its message"],
] as const;

const TEXT = "use null or a text";

function describeOdd(value: unknown, holder: Holder, key: string): Finding | null {
  switch (typeof value) {
    case "string": {
      const what = findOddText(value);
      return what === null ? null : { what, advice: REMOVE };
    }
    case "number":
      return Number.isFinite(value) ? null : { what: String(value), advice: TEXT };
    case "object": {
      for (const [kind, advice] of LOST)
        if (value instanceof kind) return { what: `a${kind === Error ? "n" : ""} ${kind.name}`, advice };
      // The value is what `toJSON` made of it.
      return value === null && holder[key] instanceof Date ? { what: "an invalid Date", advice: TEXT } : null;
    }
    default:
      return null;
  }
}
