import type { ErrorIssue } from "@keelson/contract";
import { invalidRequest } from "../../domain-error.ts";
import { survivesDouble } from "./survives-double.ts";

/** An object or list that is being read. `at` is the key or index of the member that is next. */
type Container = { keys: Set<string> | undefined; at: string | number };

/**
 * Refuses JSON that two readers may understand differently (I-JSON, RFC 7493): a key that is there twice, half of a
 * surrogate pair, NUL in a string, a number that a double does not hold. After parsing the first and last cannot be seen
 * any more, so it is the text that is looked at; it must be valid JSON in valid UTF-8, see `parse-json.ts`.
 *
 * Most texts were written by `JSON.stringify`. One that it writes again from the parsed value has each key once and each
 * number as a double's shortest writing, and this is known five times as fast as by looking at the text.
 *
 * @throws DomainError `invalid_request` naming the place.
 */
export function checkIJson(text: string, value: unknown): void {
  if (isDoubtful(text, value)) checkText(text, refuse);
}

/**
 * The same for a body whose list `list` has items that stand each for itself: what is odd inside an item refuses that one.
 *
 * @returns the refusals by the item's index, their paths below the item; null when there are none.
 * @throws DomainError `invalid_request` for what is odd outside of the items.
 */
export function checkItems(text: string, value: unknown, list: string): OddItems | null {
  if (!isDoubtful(text, value)) return null;
  const odd = new Map<number, ErrorIssue>();
  checkText(text, (open, message) => {
    const [outer, inner, ...rest] = open;
    if (outer?.at !== list || typeof inner?.at !== "number") return refuse(open, message);
    if (!odd.has(inner.at)) odd.set(inner.at, { path: pathOf(rest), message });
  });
  return odd.size === 0 ? null : odd;
}

export type OddItems = ReadonlyMap<number, ErrorIssue>;

const isDoubtful = (text: string, value: unknown): boolean =>
  text.includes("\\u") || JSON.stringify(value) !== text;

/** Hears of each odd place, and may end the look by throwing. */
type OnOdd = (open: readonly Container[], message: string) => void;

function checkText(text: string, onOdd: OnOdd): void {
  const open: Container[] = [];
  let i = 0;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      const inner = open.at(-1);
      const isKey = inner?.keys !== undefined && isKeyPosition(text, end);
      takeString(text.slice(i, end), isKey, open, onOdd);
      i = end;
      continue;
    }
    if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, i);
      if (!survivesDouble(text.slice(i, end)))
        onOdd(open, "an IEEE 754 double does not hold this number; send it as a string");
      i = end;
      continue;
    }
    if (code === OPEN_BRACE) open.push({ keys: new Set(), at: "" });
    else if (code === OPEN_BRACKET) open.push({ keys: undefined, at: 0 });
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop();
    else if (code === COMMA) {
      const inner = open.at(-1);
      if (typeof inner?.at === "number") inner.at += 1;
    }
    i += 1;
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON, MINUS, ZERO, NINE] = [34, 92, 44, 58, 45, 48, 57] as const;
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [123, 125, 91, 93] as const;

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

/** By an odd number of backslashes before it. */
function isEscaped(text: string, at: number): boolean {
  let i = at - 1;
  while (text.charCodeAt(i) === BACKSLASH) i -= 1;
  return (at - i) % 2 === 0;
}

const NUMBER = /[-+.0-9eE]*/y;

function endOfNumber(text: string, start: number): number {
  NUMBER.lastIndex = start;
  NUMBER.test(text);
  return NUMBER.lastIndex;
}

/** A string is a key when a colon follows it. */
function isKeyPosition(text: string, end: number): boolean {
  let i = end;
  while (text.charCodeAt(i) <= 32) i += 1;
  return text.charCodeAt(i) === COLON;
}

function takeString(quoted: string, isKey: boolean, open: Container[], onOdd: OnOdd): void {
  // Without an escape there is neither NUL nor half a pair: JSON and UTF-8 have no other way to write them.
  const isPlain = !quoted.includes("\\");
  const value = isPlain ? quoted.slice(1, -1) : (JSON.parse(quoted) as string);
  const inner = open.at(-1);
  if (isKey && inner?.keys !== undefined) {
    inner.at = value;
    if (inner.keys.has(value)) onOdd(open, "this key is there twice; send it once");
    inner.keys.add(value);
  }
  if (!isPlain && !isInterchangeable(value)) onOdd(open, NOT_INTERCHANGEABLE);
}

const NOT_INTERCHANGEABLE = "holds NUL or half of a surrogate pair; remove it";

const isInterchangeable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

/** @throws DomainError `invalid_request` for a text that did not come as JSON, such as a form's field. */
export function checkFormText(path: string, text: string): void {
  if (!isInterchangeable(text)) throw invalidRequest([{ path, message: NOT_INTERCHANGEABLE }]);
}

const pathOf = (open: readonly Container[]): string =>
  open
    .map(({ at }) => at)
    .join(".")
    .toWellFormed() || "body";

const refuse: OnOdd = (open, message) => {
  throw invalidRequest([{ path: pathOf(open), message }]);
};
