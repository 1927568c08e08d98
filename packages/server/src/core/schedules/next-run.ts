import { DomainError } from "../../domain-error.ts";
import { parseCron } from "./cron-expression.ts";
import { findTimeZone, type TimeZone } from "./time-zone.ts";

/** A definition's due times: the first one after an instant, or null when none will come. */
export type NextRun = (after: number) => number | null;

/**
 * What is wrong with a cron expression or a time zone, and with which of them; null when both can be used.
 */
export function scheduleTimeProblem(
  cron: string,
  timezone: string,
): { field: "cron" | "timezone"; message: string } | null {
  const parsed = parseCron(cron);
  if ("problem" in parsed) return { field: "cron", message: `"${cron}" cannot be used: ${parsed.problem}` };
  if (findTimeZone(timezone) !== null) return null;
  const message = /^[+-]/.test(timezone)
    ? `"${timezone}" is an offset, which knows no daylight saving; write a time zone such as Europe/Berlin, or UTC`
    : `"${timezone}" is not a time zone; write an IANA name such as Europe/Berlin, or UTC`;
  return { field: "timezone", message };
}

/** @throws DomainError `invalid_cron` that says what to write instead. */
export function checkScheduleTime(cron: string, timezone: string): void {
  const problem = scheduleTimeProblem(cron, timezone);
  if (problem === null) return;
  const { field, message } = problem;
  throw new DomainError("invalid_cron", `${field}: ${message}.`, { issues: [{ path: field, message }] });
}

/**
 * The due times of a definition that `checkScheduleTime` has accepted.
 *
 * A fixed local time comes due once on each day that it fits: one that clocks skip, at the first valid instant after it;
 * one that clocks repeat, the first time. An interval follows the clock: it comes due whenever the clock shows a time that
 * fits, so in both passes of a repeated hour, and not in a skipped one.
 */
export function nextRunOf(cron: string, timezone: string): NextRun {
  const parsed = parseCron(cron);
  const zone = findTimeZone(timezone);
  // Stored by a server that knew the zone. It comes due no more, rather than hold up all others.
  if ("problem" in parsed || zone === null) return () => null;
  const { nextWall, isFixed } = parsed.expression;
  return isFixed
    ? (after) => nextFixed(nextWall, zone, after)
    : (after) => nextByClock(nextWall, zone, after);
}

/** @returns the next due times of an accepted definition after an instant, at most `count` of them. */
export function nextRunsOf(cron: string, timezone: string, after: number, count: number): number[] {
  const nextRun = nextRunOf(cron, timezone);
  const times: number[] = [];
  while (times.length < count) {
    const at = nextRun(times.at(-1) ?? after);
    if (at === null) break;
    times.push(at);
  }
  return times;
}

type NextWall = (after: number) => number | null;

function nextFixed(nextWall: NextWall, zone: TimeZone, after: number): number | null {
  // Wall times up to this one have come due: `instantOf` never goes back when the wall time goes on.
  let wall = nextWall(after + zone.offsetAt(after));
  while (wall !== null) {
    const instant = zone.instantOf(wall);
    if (instant > after) return instant;
    wall = nextWall(wall);
  }
  return null;
}

function nextByClock(nextWall: NextWall, zone: TimeZone, after: number): number | null {
  // From one change of the clock to the next its offset stays, and wall time and instants go on together.
  for (let from = after; ;) {
    const offset = zone.offsetAt(from);
    const wall = nextWall(from + offset);
    if (wall === null) return null;
    const instant = wall - offset;
    const change = zone.findTransition(from, instant);
    if (change === null) return instant;
    // The second of the change itself may fit: a second before it, reckoned with the offset after it.
    const first = nextWall(change - 1000 + zone.offsetAt(change));
    if (first === change + zone.offsetAt(change)) return change;
    from = change;
  }
}
