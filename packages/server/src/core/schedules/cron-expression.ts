import { Cron } from "croner";

/**
 * Cron expressions of five fields, or six with seconds in front. What each field may hold is checked here, so that a
 * refusal can say what to write; croner then reckons in wall time and knows nothing of time zones.
 */
export type CronExpression = {
  /** The first wall time after the given one that fits, or null when none ever does. See `time-zone.ts`. */
  nextWall(after: number): number | null;
  /**
   * Its minutes are numbers and it is not for every hour, as `30 2 * * *`: fixed local times, each of which happens once a
   * day it fits, whatever clocks do then. Otherwise it stands for an interval and follows the clock.
   */
  isFixed: boolean;
};

export type ParsedCron = { expression: CronExpression } | { problem: string };

type Field = { name: string; minimum: number; maximum: number; names?: readonly string[]; special?: string };

const MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const DAYS = "SUN MON TUE WED THU FRI SAT".split(" ");

const SECOND: Field = { name: "second", minimum: 0, maximum: 59 };
const MINUTE: Field = { name: "minute", minimum: 0, maximum: 59 };
const HOUR: Field = { name: "hour", minimum: 0, maximum: 23 };
const FIELDS: readonly Field[] = [
  MINUTE,
  HOUR,
  { name: "day of month", minimum: 1, maximum: 31, special: "L, or a day with W" },
  { name: "month", minimum: 1, maximum: 12, names: MONTHS },
  { name: "day of week", minimum: 0, maximum: 7, names: DAYS, special: "a day with # or L" },
];

const SIGNS_OF_DAYS =
  "a day of the week takes # and 1 to 5, or L, behind it (MON#1, FRI#L), and a day of the month is L or a day with W (15W)";

const MAX_EXPRESSIONS = 10_000;
const parsed = new Map<string, ParsedCron>();

/** The expression, or what is wrong with it, in words that say what to write. */
export function parseCron(text: string): ParsedCron {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  if (parsed.size >= MAX_EXPRESSIONS) parsed.clear();
  const result = parse(text);
  parsed.set(text, result);
  return result;
}

function parse(text: string): ParsedCron {
  const parts = text.trim().split(/\s+/);
  if (text.trim().startsWith("@"))
    return {
      problem: `"${text.trim()}" is a nickname; write its fields instead, such as 0 0 * * * for @daily`,
    };
  if (parts.length !== 5 && parts.length !== 6) {
    return {
      problem: `it has ${parts.length === 1 && parts[0] === "" ? "no fields" : `${parts.length} field${parts.length === 1 ? "" : "s"}`}; write five (minute, hour, day of month, month, day of week), or six with seconds in front`,
    };
  }
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  for (const [index, field] of fields.entries()) {
    const problem = fieldProblem(field, parts[index] as string);
    if (problem !== null) return { problem };
  }
  return toExpression(parts);
}

function toExpression(parts: readonly string[]): ParsedCron {
  let cron: Cron;
  try {
    cron = new Cron(parts.join(" "), { paused: true, utcOffset: 0, mode: "5-or-6-parts" });
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    // Numbers were looked at before: what is left are the signs of days.
    return { problem: SIGNS_OF_DAYS };
  }
  const nextWall = (after: number): number | null => cron.nextRun(new Date(after))?.getTime() ?? null;
  // The first year after a leap year: a date that does not come in the years from here never comes.
  if (nextWall(Date.UTC(2025, 0, 1)) === null)
    return { problem: "it never comes due: no month it names has a day that it names" };
  const [hour = "*", minute = "*", second = "0"] = [parts.at(-4), parts.at(-5), parts.at(-6)];
  return { expression: { nextWall, isFixed: isNamed(minute) && isNamed(second) && !isEveryHour(hour) } };
}

const isNamed = (field: string): boolean => /^[0-9,]+$/.test(field);

function isEveryHour(field: string): boolean {
  const hours = new Set<number>();
  for (const part of field.split(",")) {
    const [range = "*", step = "1"] = part.split("/");
    const [from = "0", to = from] = range === "*" || range === "?" ? ["0", "23"] : range.split("-");
    for (let hour = Number(from); hour <= Number(to); hour += Number(step)) hours.add(hour);
  }
  return hours.size === 24;
}

/** What is wrong with a field, as far as its numbers go; the special signs of days are left to croner. */
function fieldProblem(field: Field, text: string): string | null {
  for (const part of text.split(",")) {
    const problem = partProblem(field, part);
    if (problem !== null) return `${field.name} "${text}": ${problem}`;
  }
  return null;
}

function partProblem({ minimum, maximum, names, special }: Field, part: string): string | null {
  const bounds = `${minimum} to ${maximum}${names === undefined ? "" : `, or ${names[0]} to ${names.at(-1)}`}`;
  if (part === "") return "a part between commas is empty";
  if (special !== undefined && /[LW#+]/i.test(withoutNames(part, names))) return null;
  const [range = "", step, ...more] = part.split("/");
  if (more.length > 0) return "it has more than one step";
  if (step !== undefined && !/^[1-9]\d*$/.test(step)) return `a step is a whole number from 1, not "${step}"`;
  if (step !== undefined && Number(step) > maximum) return `the step ${step} is over ${maximum}`;
  if (range === "*" || range === "?") return null;
  const ends = range.split("-").map((end) => valueOf(end, names, minimum));
  if (ends.length > 2 || ends.some((end) => end === null))
    return `write *, a number from ${bounds}, a range a-b, or a step */n${special === undefined ? "" : `, ${special}`}`;
  const [from, to = from] = ends as [number, number?];
  const outside = [from, to].find((end) => end < minimum || end > maximum);
  if (outside !== undefined) return `${outside} is not in ${bounds}`;
  if (to < from) return `the range ${range} goes backwards; write it as two, separated by a comma`;
  if (step !== undefined && ends.length === 1)
    return `a step needs a range; write ${from}-${maximum}/${step}`;
  return null;
}

const withoutNames = (part: string, names: readonly string[] = []): string =>
  names.reduce((text, name) => text.toUpperCase().replaceAll(name, ""), part);

function valueOf(text: string, names: readonly string[] | undefined, minimum: number): number | null {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  const index = names?.indexOf(text.toUpperCase()) ?? -1;
  return index < 0 ? null : index + minimum;
}
