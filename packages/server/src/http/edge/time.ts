/**
 * Writes times as RFC 3339 in UTC with milliseconds, from milliseconds since the epoch. It remembers the last one: what one batch wrote
 * has one time, and a page of runs few.
 */
export function createTimestamps(): (ms: number) => string {
  let lastMs = Number.NaN;
  let lastText = "";
  return (ms) => {
    if (ms === lastMs) return lastText;
    lastText = new Date(ms).toISOString();
    lastMs = ms;
    return lastText;
  };
}

export const toTimestamp = createTimestamps();

export const toTimestampOrNull = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();
