import { DROPPED_KINDS, type DroppedKind } from "../../core/retention/retention.ts";
import type { Metrics } from "../edge/metrics.ts";

/** Shows how much of each kind this server has dropped because it was kept long enough. */
export function createDropCounts(metrics: Metrics): (kind: DroppedKind, count: number) => void {
  const counts = new Map<DroppedKind, number>();
  for (const kind of DROPPED_KINDS) {
    metrics.gauge(
      `keelson_dropped_${kind}`,
      `Dropped after their time since the start: ${kind.replace("_", " ")}.`,
      () => counts.get(kind) ?? 0,
    );
  }
  return (kind, count) => void counts.set(kind, (counts.get(kind) ?? 0) + count);
}
