import type { RunMetricsWindow } from "@keelson/contract";
import { beginningOf, HOUR_MS, MINUTE_MS, type RollupMinutes } from "./run-rollup.ts";

/** How a window is read: which rows, and how many of them make one bucket. */
export type MetricsWindow = {
  /** Of the rows that a series is made of. */
  minutes: RollupMinutes;
  /** Of the rows that have the figures of each entrypoint: the fewest that begin with the window. */
  listMinutes: RollupMinutes;
  since: number;
  bucketMs: number;
};

const DAY_MS = 24 * HOUR_MS;

/**
 * The last bucket is still under way, and the first one is whole. All but the shortest window begin with an hour, so that rows of
 * hours and rows of minutes have the same runs.
 */
export function metricsWindow(window: RunMetricsWindow, now: number): MetricsWindow {
  switch (window) {
    case "1h":
      return {
        ...{ minutes: 1, listMinutes: 1, bucketMs: MINUTE_MS },
        since: beginningOf(now, 1) - HOUR_MS + MINUTE_MS,
      };
    case "24h":
      return {
        ...{ minutes: 1, listMinutes: 60, bucketMs: 15 * MINUTE_MS },
        since: beginningOf(now, 60) - DAY_MS + HOUR_MS,
      };
    case "7d":
      return {
        ...{ minutes: 60, listMinutes: 60, bucketMs: HOUR_MS },
        since: beginningOf(now, 60) - 7 * DAY_MS + HOUR_MS,
      };
    case "30d":
      return {
        ...{ minutes: 60, listMinutes: 60, bucketMs: 4 * HOUR_MS },
        since: beginningOf(now, 60) - 30 * DAY_MS + HOUR_MS,
      };
  }
}

/** When each bucket begins, the oldest first. */
export const bucketTimes = ({ since, bucketMs }: MetricsWindow, now: number): number[] =>
  Array.from({ length: Math.floor((now - since) / bucketMs) + 1 }, (_, index) => since + index * bucketMs);
