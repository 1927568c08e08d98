import { numberOf, textOf, type Schema } from "./json-schema.ts";

/** A pattern that can be tried in more ways than these is not tried here: the page stands still while it is. */
const MAX_WAYS = 1e7;

const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]\d\d(:?\d\d)?)$/i;

const isTimestamp = (text: string): boolean => {
  const [date = "", time = "", ...more] = text.split(/[t\s]/i);
  return more.length === 0 && isDate(date) && TIME.test(time);
};
const isDate = (text: string): boolean =>
  DATE.test(text) && new Date(`${text}T00:00:00Z`).getUTCDate() === Number(text.slice(8));

/** Formats that people fill in. What is not here is the server's to check. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": isTimestamp,
  date: isDate,
  time: (text) => TIME.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => /^[a-z][a-z0-9+.-]*:\S+$/i.test(text),
  uuid: (text) => /^(urn:uuid:)?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text),
  ipv4: (text) => /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}$/.test(text),
};

/** What is wrong with a text, in words for whoever wrote it. */
export function checkText(schema: Schema, text: string): string[] {
  const found: string[] = [];
  const { length } = Array.from(text);
  const [least, most] = [numberOf(schema, "minLength"), numberOf(schema, "maxLength")];
  if (least !== null && length < least)
    found.push(least === 1 ? "must not be empty" : `must have at least ${least} characters`);
  if (most !== null && length > most) found.push(`must have at most ${most} characters, not ${length}`);
  const pattern = textOf(schema, "pattern");
  if (pattern !== null && matches(pattern, text) === false) found.push(`must match ${pattern}`);
  const format = textOf(schema, "format");
  const fits = format !== null && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (fits !== undefined && !fits(text)) found.push(`must be a valid ${format}`);
  return found;
}

const countIn = (text: string, found: RegExp): number => text.match(found)?.length ?? 0;

/** At most: every repetition as long as the text, from every place of it, and every choice both ways. */
const waysOf = (pattern: string, text: string): number =>
  (text.length + 1) ** (countIn(pattern, /[*+{]/g) + 1) * 2 ** countIn(pattern, /[?|]/g);

/** Null is the server's to say: it bounds the time that a match takes, which repeated groups need. */
function matches(pattern: string, text: string): boolean | null {
  if (/\)[*+{]|\\[1-9k]/.test(pattern) || waysOf(pattern, text) > MAX_WAYS) return null;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
