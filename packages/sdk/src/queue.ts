import { QUEUE_NAME_PATTERN } from "@keelson/contract/plain";
import { registry } from "./registry.ts";

/** What `queue()` is given. */
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
 * Throws a TypeError for a name that cannot be used and an Error for one that is declared twice.
 */
export function queue(options: QueueOptions): Queue {
  if (!new RegExp(QUEUE_NAME_PATTERN).test(options.name)) {
    throw new TypeError(
      `queue(): ${JSON.stringify(options.name)} is not a queue name (letters, digits, . _ - /, up to 128 characters)`,
    );
  }
  const { queues } = registry();
  if (queues.has(options.name))
    throw new Error(
      `queue(): "${options.name}" is declared twice; export it from one module and import it where it is used`,
    );
  const declared: Queue = Object.freeze({ ...options, kind: "queue" as const });
  queues.set(options.name, declared);
  return declared;
}
