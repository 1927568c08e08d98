import { UsageError } from "../keelson-error.ts";

/** The wire's writing of a time. Throws a UsageError that names `field` when the date is invalid. */
export function toWireTime<Other>(at: Date | Other, field: string): string | Other {
  if (!(at instanceof Date)) return at;
  if (Number.isNaN(at.getTime())) throw new UsageError(`${field} is an invalid Date`);
  return at.toISOString();
}
