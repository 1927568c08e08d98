import { LIMITS } from "@keelson/contract";
import { invalidRequest } from "../../domain-error.ts";

/**
 * What a number beyond a double has: an exponent, or so many digits. Only then are the numbers looked at.
 * An `e` before digits is in many ids too, but what ends these is no end of a number.
 */
const EXPONENT = /[eE]\+?[0-9]+(?:[\s,\]}]|$)/;
const MANY_DIGITS = /[0-9]{309}/;

/**
 * Parses a JSON body. Depth is counted on the text, because the parser takes millions of nested arrays that nothing
 * after it can write again. A number beyond IEEE 754 double would silently come back as null, see `checkHugeNumbers`.
 *
 * @throws DomainError `invalid_request` when the text is not JSON or too deep.
 */
export function parseJson(text: string): unknown {
  // A body shorter than the nesting allowed cannot be too deep.
  if (text.length > LIMITS.jsonDepth && depthExceeds(text, LIMITS.jsonDepth)) {
    throw invalidRequest([
      { path: "body", message: `nest at most ${LIMITS.jsonDepth} levels of objects and arrays` },
    ]);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalidRequest([{ path: "body", message: `send valid JSON (${withoutQuote(cause as Error)})` }]);
  }
  return value;
}

/** @throws DomainError `invalid_request` when the text has a number that is beyond a double. */
export function checkHugeNumbers(text: string, value: unknown): void {
  if (EXPONENT.test(text) || MANY_DIGITS.test(text)) refuseInfinity(value);
}

/** The parser quotes the text around its complaint, which may be a secret's value. */
const withoutQuote = ({ message }: Error): string =>
  message.replace(/(, |: )?(\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, " is not valid JSON");

function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) i += 1;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 125 || code === 93) depth -= 1;
  }
  return false;
}

function refuseInfinity(value: unknown): void {
  const path = findInfinity(value);
  if (path === null) return;
  const message = "use a number that an IEEE 754 double can hold, or send it as a string";
  throw invalidRequest([{ path: ["body", ...path].join("."), message }]);
}

/** The keys that lead to the first number beyond a double; null when there is none. */
function findInfinity(value: unknown): string[] | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : [];
  if (typeof value !== "object" || value === null) return null;
  for (const key of Object.keys(value)) {
    const path = findInfinity((value as Record<string, unknown>)[key]);
    if (path !== null) return [key, ...path];
  }
  return null;
}
