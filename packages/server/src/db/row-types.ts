// How values of PostgreSQL become values of JavaScript. It is the same for every connection of the server:
//
//   int8, count(*)      number; a value beyond 2^53 - 1 is an error, not a wrong number
//   timestamptz         number: whole milliseconds since 1970, microseconds cut off; ±Infinity for 'infinity'
//   json, jsonb         string, so that users' JSON is passed on as it was stored
//   numeric             string: cast sums to ::int8 or ::float8
//   date, timestamp     string
//   the rest            as `pg` does: bool, int4, float8, text, uuid, bytea (Buffer), arrays of them
//
// Writing a time: `timestamp(ms)`. It is not exact below a millisecond, so a time
// is never the key of a page.

import pg from "pg";

type TextParser = (text: string) => unknown;

const OID = {
  int8: 20,
  json: 114,
  jsonArray: 199,
  int8Array: 1016,
  timestamp: 1114,
  timestampArray: 1115,
  date: 1082,
  dateArray: 1182,
  timestamptz: 1184,
  timestamptzArray: 1185,
  jsonb: 3802,
  jsonbArray: 3807,
  textArray: 1009,
};

const asText: TextParser = (text) => text;
const parseTextArray = pg.types.getTypeParser(OID.textArray, "text") as (text: string) => (string | null)[];

const parsers = new Map<number, TextParser>([
  [OID.int8, parseInt8],
  [OID.int8Array, (text) => parseTextArray(text).map((item) => (item === null ? null : parseInt8(item)))],
  [OID.timestamptz, parseTimestamp],
  [
    OID.timestamptzArray,
    (text) => parseTextArray(text).map((item) => (item === null ? null : parseTimestamp(item))),
  ],
  [OID.json, asText],
  [OID.jsonb, asText],
  [OID.jsonArray, parseTextArray],
  [OID.jsonbArray, parseTextArray],
  [OID.date, asText],
  [OID.timestamp, asText],
  [OID.dateArray, parseTextArray],
  [OID.timestampArray, parseTextArray],
]);

/** The `types` option of a `pg` connection. */
export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary"): TextParser {
    const own = format === "binary" ? undefined : parsers.get(oid);
    return own ?? (pg.types.getTypeParser(oid, format) as TextParser);
  },
};

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError(`The database sent ${text}, which a number cannot hold exactly.`);
  return value;
}

const ZERO = 0x30;
const HYPHEN = 0x2d;

/** The first three digits of a fraction of up to six, of a text with the offset `+00`. */
function millisecondsOf(text: string): number {
  const end = text.length - "+00".length;
  let ms = 0;
  for (let at = 20; at < 23; at += 1) ms = ms * 10 + (at < end ? text.charCodeAt(at) - ZERO : 0);
  return ms;
}

const TIMESTAMP =
  /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/;

/** Reads the ISO style of PostgreSQL, `2026-11-21 09:30:00.123456+00`, with any offset of the session's time zone. */
export function parseTimestamp(text: string): number {
  // A year of four digits, and UTC, as sessions have it: a claim reads thousands of them, and a match makes a string of each part.
  if (text.charCodeAt(4) === HYPHEN && text.endsWith("+00")) {
    const part = (at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 11 * ZERO;
    return Date.UTC(
      part(0) * 100 + part(2),
      part(5) - 1,
      part(8),
      part(11),
      part(14),
      part(17),
      millisecondsOf(text),
    );
  }
  if (text === "infinity") return Infinity;
  if (text === "-infinity") return -Infinity;
  const match = TIMESTAMP.exec(text);
  if (match === null)
    throw new RangeError(
      `The database sent the time ${text}, which is not in the ISO style after the year 0.`,
    );
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = "",
    sign,
    offsetHour,
    offsetMinute = "0",
    offsetSecond = "0",
  ] = match;
  const ms = Number(fraction.slice(0, 3).padEnd(3, "0"));
  const local = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    ms,
  );
  const offsetMs = (Number(offsetHour) * 3600 + Number(offsetMinute) * 60 + Number(offsetSecond)) * 1000;
  return sign === "+" ? local - offsetMs : local + offsetMs;
}
