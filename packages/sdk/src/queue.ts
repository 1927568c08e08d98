import { QUEUE_NAME_PATTERN } from "@keelson/contract/plain";
import { registry } from "./registry.ts";
import { UsageError } from "./keelson-error.ts";

/** The options of `queue()`. */
export type QueueOptions = {
  /** Letters, digits, `.`, `_`, `-` and `/`; up to 128 characters. */
  name: string;
  /** Runs of this queue at once in the environment. Default: no limit. */
  concurrencyLimit?: number;
  /** Runs at once for each concurrency key. Default 1. */
  concurrencyKeyLimit?: number;
};

/** A declared queue. */
export type Queue = Readonly<QueueOptions> & {
  /** Tells it from other declarations. */
  readonly kind: "queue";
};

/**
 * Declares a queue with limits; tasks name it in `queue`.
 * Throws a UsageError for an invalid name, and for a name that is declared twice.
 */
export function queue(options: QueueOptions): Queue {
  if (!new RegExp(QUEUE_NAME_PATTERN).test(options.name)) {
    throw new UsageError(
      `queue(): ${JSON.stringify(options.name)} is not a queue name (letters, digits, . _ - /, up to 128 characters)`,
    );
  }
  const { queues } = registry();
  if (queues.has(options.name))
    throw new UsageError(
      `queue(): "${options.name}" is declared twice; export it from one module and import it where it is used`,
    );
  const declared: Queue = Object.freeze({ ...options, kind: "queue" as const });
  queues.set(options.name, declared);
  return declared;
}
