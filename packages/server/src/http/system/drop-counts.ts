import { DROPPED_KINDS, type DroppedKind } from "../../core/retention/retention.ts";
import type { Metrics } from "../edge/metrics.ts";

/** Shows how much of each kind this server has dropped because it was kept long enough. */
export function createDropCounts(metrics: Metrics): (kind: DroppedKind, count: number) => void {
  const dropped = metrics.counters(
    "keelson_dropped_total",
    "What was dropped because it was kept long enough, by kind.",
    ["kind"],
  );
  // A counter that is there from the start shows its first increase too.
  for (const kind of DROPPED_KINDS) dropped.of(kind);
  return (kind, count) => void (dropped.of(kind).value += count);
}

/**
 * Shows how far behind the dropping is: everything that was due this long ago is gone. Of several servers, each goes through
 * everything now and then, so the least of their values is right.
 */
export function createRetentionLag(metrics: Metrics, clock: () => number): (begunAt: number) => void {
  let sweptAt: number | null = null;
  metrics.gauge(
    "keelson_retention_lag_seconds",
    "Time since the last round in which this server went through everything that is kept for a time. Absent until the first one.",
    () => (sweptAt === null ? null : Math.max(0, clock() - sweptAt) / 1_000),
  );
  return (begunAt) => {
    sweptAt = begunAt;
  };
}
