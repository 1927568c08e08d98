/** Durations on the wire are `<integer><unit>`, unit `ms`, `s`, `m`, `h` or `d`. */
export const DURATION_PATTERN = "^[0-9]{1,12}(ms|s|m|h|d)$";

/** How long to wait: a duration, or `0` for not at all. */
export const WAIT_PATTERN = "^(0|[0-9]{1,12}(ms|s|m|h|d))$";

export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of a duration, or null when the text is not one. */
export function parseDuration(text: string): number | null {
  const match = /^([0-9]{1,12})(ms|s|m|h|d)$/.exec(text);
  if (match === null) return null;
  const ms = Number(match[1]) * (UNIT_MS[match[2] as string] as number);
  return Number.isSafeInteger(ms) ? ms : null;
}

/** The milliseconds of a wait, or null when the text is no wait. */
export const parseWait = (text: string): number | null => (text === "0" ? 0 : parseDuration(text));

/** The shortest exact writing of a number of milliseconds: `90000` is `90s`, `1500` is `1500ms`. */
export function formatDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"] as const) {
    const size = UNIT_MS[unit] as number;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}
