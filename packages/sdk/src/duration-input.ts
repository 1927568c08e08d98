import { formatDuration, parseDuration, type Duration } from "@keelson/contract/plain";
import { UsageError } from "./keelson-error.ts";

/** A duration as authors write it: `"30s"`, `"500ms"`, `"2h"`, or a number of milliseconds. */
export type DurationInput = Duration | number;

/** The wire's writing of a duration. Throws a UsageError that names `field` when the value is not a duration. */
export function toWireDuration(value: DurationInput, field: string): string {
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new UsageError(`${field} must be a whole number of milliseconds, not ${value}`);
    return formatDuration(value);
  }
  if (parseDuration(value) === null)
    throw new UsageError(`${field} must be a duration like "30s" or "500ms", not ${JSON.stringify(value)}`);
  return value;
}

/** The milliseconds of a duration. Throws a UsageError that names `field` when the value is not a duration. */
export function toMilliseconds(value: DurationInput, field: string): number {
  return parseDuration(toWireDuration(value, field)) as number;
}
