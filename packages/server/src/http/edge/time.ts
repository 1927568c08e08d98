/** RFC 3339 in UTC with milliseconds, from milliseconds since the epoch. */
export function toTimestamp(ms: number): string {
  // What one batch wrote has one time, and a page of runs few: the last one is often asked for again.
  if (ms === lastMs) return lastText;
  lastText = new Date(ms).toISOString();
  lastMs = ms;
  return lastText;
}

let lastMs = Number.NaN;
let lastText = "";

export const toTimestampOrNull = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();
