/**
 * Local time of IANA time zones. A wall time is written as the milliseconds that `Date.UTC` gives for its fields, so that
 * it can be reckoned with; what it means as an instant depends on the zone.
 */
export type TimeZone = {
  /** Wall time minus instant, in milliseconds. */
  offsetAt(instant: number): number;
  /** The first change of the offset after `after` and at or before `until`, or null. */
  findTransition(after: number, until: number): number | null;
  /**
   * The instant of a wall time: the first of two when clocks went back over it, and when clocks went forward over it the
   * instant of the change, which is the first valid one after it.
   */
  instantOf(wall: number): number;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_ZONES = 1_000;

const zones = new Map<string, TimeZone | null>();

/** Null when the name is not one of a time zone. Offsets such as `+02:00` are not: they have no rules. */
export function findTimeZone(name: string): TimeZone | null {
  const known = zones.get(name);
  if (known !== undefined) return known;
  if (zones.size >= MAX_ZONES) zones.clear();
  const zone = createTimeZone(name);
  zones.set(name, zone);
  return zone;
}

function createTimeZone(name: string): TimeZone | null {
  if (!/^[A-Za-z]/.test(name)) return null;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  const offsetAt = (instant: number): number => parseOffset(format.format(instant));
  const findTransition = (after: number, until: number): number | null => {
    const before = offsetAt(after);
    // A day at a time: zones that change twice a year, or four times, never change twice within one.
    for (let low = after; low < until; low += DAY_MS) {
      const high = Math.min(low + DAY_MS, until);
      if (offsetAt(high) !== before) return bisect(low, high, (instant) => offsetAt(instant) !== before);
    }
    return null;
  };
  return {
    offsetAt,
    findTransition,
    instantOf: (wall) => {
      // Offsets are between -12 and +14 hours: the instant is between these two.
      const [early, late] = [wall - 15 * HOUR_MS, wall + 13 * HOUR_MS];
      const before = offsetAt(early);
      const change = findTransition(early, late);
      if (change === null || wall < change + before) return wall - before;
      return Math.max(change, wall - offsetAt(change));
    },
  };
}

/** The first whole second at which it holds; it does not at `low` and does at `high`. */
function bisect(low: number, high: number, holds: (instant: number) => boolean): number {
  let [no, yes] = [Math.floor(low / 1000), Math.ceil(high / 1000)];
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle * 1000)) yes = middle;
    else no = middle;
  }
  return yes * 1000;
}

/** `1/1/2026, GMT+05:30`; seconds were once part of local mean times. */
function parseOffset(text: string): number {
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (match === null) throw new Error(`An offset from GMT was expected at the end of "${text}".`);
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = match;
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -ms : ms;
}
