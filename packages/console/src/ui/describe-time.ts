const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `850 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`: two figures that matter. */
export function describeDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

/** `offsetMs` is negative in the past: `5 s ago`, `in 3 min`, `now`. */
export function describeAge(offsetMs: number): string {
  const ms = Math.abs(offsetMs);
  if (ms < SECOND) return "now";
  const text =
    ms < MINUTE
      ? `${Math.floor(ms / SECOND)} s`
      : ms < HOUR
        ? `${Math.floor(ms / MINUTE)} min`
        : ms < DAY
          ? `${Math.floor(ms / HOUR)} h`
          : `${Math.floor(ms / DAY)} d`;
  return offsetMs < 0 ? `${text} ago` : `in ${text}`;
}
