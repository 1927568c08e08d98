import {
  encodeId,
  type QueueActivity,
  type RunActivityMinute,
  type StatusReason,
  type StuckRun,
  type WorkersActivity,
} from "@keelson/contract";
import type { RunCountSample } from "../../../core/runs/run-activity.ts";
import type { QueuedRun, QueueLoad, WorkerLoad } from "../../../core/runs/run-activity-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export const toActivityMinute = ({ at, ...counts }: RunCountSample): RunActivityMinute => ({
  at: toTimestamp(at),
  ...counts,
});

export const toQueueActivity = (load: QueueLoad): QueueActivity => ({
  queue: load.queue,
  queued: load.queued,
  delayed: load.delayed,
  running: load.running,
  waiting: load.waiting,
  oldest_queued_at: toTimestampOrNull(load.oldestQueuedAt),
  concurrency_limit: load.concurrencyLimit,
  concurrency_key_limit: load.concurrencyKeyLimit,
});

export const toWorkersActivity = ({ taken, ...load }: WorkerLoad): WorkersActivity => ({
  ...load,
  free_slots: Math.max(0, load.slots - taken),
});

export const toStuckRun = (run: QueuedRun, reason: StatusReason): StuckRun => ({
  id: encodeId("run", run.runId),
  task: run.entrypointKind === "task" ? run.entrypoint : null,
  actor: run.entrypointKind === "actor" ? run.entrypoint : null,
  status: run.status,
  queue: run.queue,
  queued_at: toTimestamp(run.queuedAt),
  created_at: toTimestamp(run.createdAt),
  status_reason: reason,
});
