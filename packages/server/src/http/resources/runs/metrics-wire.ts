import {
  encodeId,
  type EntrypointMetrics,
  type RunFigures,
  type RunGauges,
  type RunMetricsBucket,
  type RunPercentiles,
  type RunStatus,
} from "@keelson/contract";
import { percentilesOf, type Histogram } from "../../../core/histogram.ts";
import type { EntrypointFigures } from "../../../core/run-rollups/read-run-metrics.ts";
import type { GaugeRow } from "../../../core/run-rollups/run-gauge-reads.ts";
import type { Rolled } from "../../../core/run-rollups/run-rollup.ts";
import { toTimestamp } from "../../edge/time.ts";

function toPercentiles(histogram: Histogram): RunPercentiles | null {
  const found = percentilesOf(histogram, [0.5, 0.95, 0.99]);
  if (found === null) return null;
  const [p50 = 0, p95 = 0, p99 = 0] = found;
  return { p50, p95, p99 };
}

export function toFigures({ counts, queueTimes, durations }: Rolled): RunFigures {
  const { succeeded, failed, cancelled, expired, systemFailed } = counts;
  const bad = failed + expired + systemFailed;
  return {
    ended: succeeded + bad + cancelled,
    ...{ succeeded, failed, cancelled, expired, system_failed: systemFailed },
    failure_rate: succeeded + bad === 0 ? null : bad / (succeeded + bad),
    queue_time_ms: toPercentiles(queueTimes),
    duration_ms: toPercentiles(durations),
  };
}

export const toMetricsBucket = ({ at, ...rolled }: Rolled & { at: number }): RunMetricsBucket => ({
  at: toTimestamp(at),
  ...toFigures(rolled),
});

const NOTHING = { max: 0, last: 0 };

export function toGauges({ at, samples }: { at: number; samples: GaugeRow | null }): RunGauges {
  if (samples === null)
    return {
      at: toTimestamp(at),
      ...{ queued: NOTHING, oldest_queued_ms: NOTHING, waiting: NOTHING, pending_tokens: NOTHING },
      ...{ worker_slots: null, used_worker_slots: NOTHING },
    };
  return {
    at: toTimestamp(at),
    queued: { max: samples.queuedMax, last: samples.queuedLast },
    oldest_queued_ms: { max: samples.oldestQueuedMsMax, last: samples.oldestQueuedMsLast },
    waiting: { max: samples.waitingMax, last: samples.waitingLast },
    pending_tokens: { max: samples.pendingTokensMax, last: samples.pendingTokensLast },
    worker_slots: { max: samples.slotsMax, last: samples.slotsLast },
    used_worker_slots: { max: samples.slotsUsedMax, last: samples.slotsUsedLast },
  };
}

export const toEntrypointMetrics = ({
  kind,
  entrypoint,
  rolled,
  lastRun,
}: EntrypointFigures): EntrypointMetrics => ({
  task: kind === "task" ? entrypoint : null,
  actor: kind === "actor" ? entrypoint : null,
  ...toFigures(rolled),
  last_run:
    lastRun === null
      ? null
      : {
          id: encodeId("run", lastRun.runId),
          status: lastRun.status as RunStatus,
          created_at: toTimestamp(lastRun.createdAt),
        },
});
