/** RFC 3339 in UTC with milliseconds, from milliseconds since the epoch. */
export const toTimestamp = (ms: number): string => new Date(ms).toISOString();

export const toTimestampOrNull = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();
