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

/** `offsetMs` is negative in the past: `5 s ago`, `just now`, `in 3 min`, `now`. */
export function describeAge(offsetMs: number): string {
  const ms = Math.abs(offsetMs);
  if (ms < SECOND) return offsetMs < 0 ? "just now" : "now";
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

const twoDigits = (count: number): string => String(count).padStart(2, "0");

/** What is left, as a clock counts it down: `0:12`, `1:02:03`, `2 d 1:02:03`. Never less than nothing. */
export function describeCountdown(leftMs: number): string {
  const ms = Math.max(0, Math.ceil(leftMs / SECOND) * SECOND);
  const days = Math.floor(ms / DAY);
  const hours = Math.floor((ms % DAY) / HOUR);
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  const seconds = twoDigits(Math.floor((ms % MINUTE) / SECOND));
  if (days === 0 && hours === 0) return `${minutes}:${seconds}`;
  return `${days > 0 ? `${days} d ` : ""}${hours}:${twoDigits(minutes)}:${seconds}`;
}

const MARKS: readonly (readonly [number, string])[] = [
  [10 * SECOND, "10 seconds"],
  [MINUTE, "1 minute"],
  [10 * MINUTE, "10 minutes"],
  [HOUR, "1 hour"],
  [DAY, "1 day"],
];

/** What is left, in words that seldom change: somebody who listens hears each of them once. */
export function describeLeft(leftMs: number): string {
  const mark = MARKS.find(([ms]) => leftMs <= ms);
  return mark === undefined ? "in more than 1 day" : `in less than ${mark[1]}`;
}
