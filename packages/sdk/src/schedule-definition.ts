import type { ReplaceSchedule, ScheduleOptions } from "@keelson/contract";
import { toWireDuration, type DurationInput } from "./duration-input.ts";
import type { Queue } from "./queue.ts";
import { toWireRetry, type RetryOptions } from "./retry-options.ts";
import type { AnyTask } from "./task.ts";

/** How the runs of a schedule start. Their payload is the service's: a `ScheduledPayload`. */
export type ScheduledRunOptions = {
  /** In place of the task's queue. */
  queue?: Queue | string;
  /** Runs with the same key in one queue wait for each other. */
  concurrencyKey?: string;
  /** -100 to 100; higher first. Default 0. */
  priority?: number;
  /** A run that has not begun after this long expires. */
  ttl?: DurationInput;
  /** In place of the task's. */
  maxDuration?: DurationInput;
  /** In place of the task's. */
  retry?: RetryOptions;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
};

/** When runs of a task start. Absent fields have defaults. */
export type ScheduleDefinition = {
  /** The task to start. */
  task: AnyTask | string;
  /** Minute, hour, day of month, month, day of week, as `"30 7 * * MON-FRI"`; or six fields, with seconds in front. */
  cron: string;
  /** An IANA name such as `"Europe/Berlin"`. Default `"UTC"`. */
  timezone?: string;
  /** Default true. */
  active?: boolean;
  /** An id of yours, up to 256 bytes, to find it by. */
  externalId?: string;
  /** Options of the runs that it starts. */
  options?: ScheduledRunOptions;
};

function toWireOptions(options: ScheduledRunOptions): ScheduleOptions {
  const wire: ScheduleOptions = {};
  if (options.queue !== undefined)
    wire.queue = typeof options.queue === "string" ? options.queue : options.queue.name;
  if (options.concurrencyKey !== undefined) wire.concurrency_key = options.concurrencyKey;
  if (options.priority !== undefined) wire.priority = options.priority;
  if (options.ttl !== undefined) wire.ttl = toWireDuration(options.ttl, "ttl");
  if (options.maxDuration !== undefined)
    wire.max_duration = toWireDuration(options.maxDuration, "maxDuration");
  if (options.retry !== undefined) wire.retry = toWireRetry(options.retry);
  if (options.tags !== undefined) wire.tags = [...options.tags];
  return wire;
}

/** The wire's writing of a definition. Throws a UsageError for an invalid duration. */
export function toWireDefinition(definition: ScheduleDefinition): ReplaceSchedule {
  const { task, cron, timezone, active, externalId, options } = definition;
  return {
    task: typeof task === "string" ? task : task.id,
    cron,
    ...(timezone !== undefined && { timezone }),
    ...(active !== undefined && { active }),
    ...(externalId !== undefined && { external_id: externalId }),
    ...(options !== undefined && { options: toWireOptions(options) }),
  };
}
