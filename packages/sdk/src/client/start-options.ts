import type { StartTask } from "@keelson/contract";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import type { Queue } from "../queue.ts";
import { toWireRetry, type RetryOptions } from "../retry-options.ts";
import { toWireTime } from "./time-input.ts";

/** The options of a start. The task's declaration has the defaults. */
export type StartOptions = {
  /**
   * The workspace that the run works in. Without one, a run whose task declares a `sandbox` gets a workspace of its own.
   */
  workspaceId?: string;
  /** In place of the task's queue. */
  queue?: Queue | string;
  /** Runs with the same key in one queue wait for each other, as the queue's `concurrencyKeyLimit` says. */
  concurrencyKey?: string;
  /** -100 to 100; higher first. Default 0. */
  priority?: number;
  /** Start after this long. */
  delay?: DurationInput;
  /** Start at this time; not together with `delay`. */
  startAt?: Date | string;
  /** A run that has not begun after this long expires. */
  ttl?: DurationInput;
  /** In place of the task's. */
  maxDuration?: DurationInput;
  /** In place of the task's. */
  retry?: RetryOptions;
  /** Any JSON object of up to 16 KiB, shown with the run. */
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
  /** Start the code of this deployment instead of the current one. */
  deploymentVersion?: string;
  /**
   * A repeated start with the same key and body returns the first run. By default the client makes a key, so that it can
   * repeat the start safely.
   */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

/** The body of a start. Throws a UsageError for an invalid duration. */
export function toWireStart(payload: unknown, options: StartOptions): StartTask {
  const body: StartTask = {};
  if (payload !== undefined) body.payload = payload;
  if (options.workspaceId !== undefined) body.workspace_id = options.workspaceId;
  if (options.queue !== undefined)
    body.queue = typeof options.queue === "string" ? options.queue : options.queue.name;
  if (options.concurrencyKey !== undefined) body.concurrency_key = options.concurrencyKey;
  if (options.priority !== undefined) body.priority = options.priority;
  if (options.delay !== undefined) body.delay = toWireDuration(options.delay, "delay");
  if (options.startAt !== undefined) body.start_at = toWireTime(options.startAt, "startAt");
  if (options.ttl !== undefined) body.ttl = toWireDuration(options.ttl, "ttl");
  if (options.maxDuration !== undefined)
    body.max_duration = toWireDuration(options.maxDuration, "maxDuration");
  if (options.retry !== undefined) body.retry = toWireRetry(options.retry);
  if (options.metadata !== undefined) body.metadata = options.metadata;
  if (options.tags !== undefined) body.tags = [...options.tags];
  if (options.deploymentVersion !== undefined) body.deployment_version = options.deploymentVersion;
  if (options.idempotencyKey !== undefined) body.idempotency_key = options.idempotencyKey;
  if (options.idempotencyKeyTtl !== undefined)
    body.idempotency_key_ttl = toWireDuration(options.idempotencyKeyTtl, "idempotencyKeyTtl");
  return body;
}
