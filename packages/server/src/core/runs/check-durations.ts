import { parseDuration, type ErrorIssue, type RetryPolicy } from "@keelson/contract";
import { MAX_DELAY_MS } from "./retry-policy.ts";

export type DeclaredDurations = {
  max_duration?: string | null;
  ttl?: string | null;
  retry?: RetryPolicy | null;
};

/** The pattern of a duration admits numbers that no clock reaches; and a bound of nothing would refuse every start. */
export function durationIssues({ max_duration, ttl, retry }: DeclaredDurations, path: string): ErrorIssue[] {
  const durations: [field: string, text: string | null | undefined, minimumMs: number][] = [
    ["max_duration", max_duration, 1],
    ["ttl", ttl, 1],
    ["retry.initial_delay", retry?.initial_delay, 0],
    ["retry.max_delay", retry?.max_delay, 0],
  ];
  return durations.flatMap(([field, text, minimumMs]) => {
    if (text === null || text === undefined) return [];
    const ms = parseDuration(text);
    if (ms !== null && ms >= minimumMs && ms <= MAX_DELAY_MS) return [];
    return [{ path: `${path}.${field}`, message: `"${text}" must be from ${minimumMs}ms to 3650d` }];
  });
}
