import type { StandardTypedV1 } from "@standard-schema/spec";
import { DECLARED_ID_PATTERN, type ExecutionMode } from "@keelson/contract/plain";
import { callChild, startChild, type ChildCallOptions, type ChildStartOptions } from "./child-runs.ts";
import { checkSecretNames } from "./check-secret-names.ts";
import type { RunContext } from "./context.ts";
import type { DurationInput } from "./duration-input.ts";
import type { JsonSchema, PayloadSchema } from "./payload-schema.ts";
import type { Queue } from "./queue.ts";
import { registry } from "./registry.ts";
import type { Sandbox } from "./sandbox.ts";
import type { RetryOptions } from "./retry-options.ts";

/** What `task()` is given besides `run` and `payload`. */
export type TaskOptions = {
  /** The name that starts and lists use: letters, digits, `.`, `_`, `-`; up to 128 characters; unique in the bundle. */
  id: string;
  /** A sentence that lists show. */
  description?: string;
  /** How often and when a failed attempt is tried again. Default: three attempts. */
  retry?: RetryOptions;
  /** A queue of `queue()`, or the name of one. */
  queue?: Queue | string;
  /** An attempt that takes longer is ended with the failure kind `timed_out`. Default: no limit. */
  maxDuration?: DurationInput;
  /** A run that has not begun after this long expires. Default: never. */
  ttl?: DurationInput;
  /** `exclusive` (default): one run at a time in a process. `shared`: many at once, for code that only waits on I/O. */
  execution?: ExecutionMode;
  /**
   * A sandbox of `sandbox()`, or the name of one. Each run that is started without a workspace gets one of its own made
   * from it: `ctx.workspace`.
   */
  sandbox?: Sandbox | string;
  /** The most memory its process may use, in MiB. */
  memoryMb?: number;
  /** Names of the secrets that its runs need; `ctx.secrets` has their values. A run that cannot have all of them fails. */
  secrets?: readonly string[];
};

/** A declared task. `Input` is what a start takes, `Output` what its run gives. */
export type Task<Id extends string = string, Input = unknown, Output = unknown> = {
  /** Tells it from an actor. */
  readonly kind: "task";
  /** The name that starts and lists use. */
  readonly id: Id;
  /** As they were declared. */
  readonly options: Readonly<TaskOptions>;
  /** The schema of its payload; null without one. */
  readonly payload: PayloadSchema | null;
  /** The code. */
  readonly run: (payload: never, ctx: RunContext) => unknown;
  /**
   * Inside a run: starts a child run of this task, once, and gives its id. The child is cancelled with its parent.
   * Throws outside of a run, where a `Client` starts tasks.
   */
  start(...args: ChildArguments<Input, ChildStartOptions>): Promise<{ id: string }>;
  /**
   * Inside a run: starts a child run and waits for its output; the run may be suspended meanwhile. Rejects with
   * `ChildRunError` when the child does not succeed, and with `WaitTimeoutError` after `timeout`.
   */
  call(...args: ChildArguments<Input, ChildCallOptions>): Promise<Output>;
  /** Types alone; nothing is here at run time. */
  readonly "~types"?: { readonly input: Input; readonly output: Output };
};

/** A payload that may be absent may be left out. */
type ChildArguments<Input, Options> = undefined extends Input
  ? [payload?: Input, options?: Options]
  : [payload: Input, options?: Options];

/** A task whatever it takes and gives. */
export type AnyTask = Task;

/** What a start of the task takes as its payload. */
export type InputOf<T> = T extends { readonly "~types"?: { readonly input: infer Input } } ? Input : unknown;
/** What a succeeded run of the task has as its output. */
export type OutputOf<T> = T extends { readonly "~types"?: { readonly output: infer Output } }
  ? Output
  : unknown;

type TaskBody<Payload, Output> = { run: (payload: Payload, ctx: RunContext) => Output | Promise<Output> };

/**
 * Declares a task. The payload's types come from its Standard Schema: its input type for starts, its output type
 * for `run`. Without one, or with a plain JSON Schema, they come from how `run` annotates its parameter.
 *
 * Throws a TypeError for an id that cannot be used and an Error for one that is declared twice.
 */
export function task<const Id extends string, Schema extends StandardTypedV1, Output>(
  options: TaskOptions & { id: Id; payload: Schema } & TaskBody<StandardTypedV1.InferOutput<Schema>, Output>,
): Task<Id, StandardTypedV1.InferInput<Schema>, Awaited<Output>>;
export function task<const Id extends string, Payload = unknown, Output = unknown>(
  options: TaskOptions & { id: Id; payload?: JsonSchema } & TaskBody<Payload, Output>,
): Task<Id, Payload, Awaited<Output>>;
export function task(options: TaskOptions & { payload?: PayloadSchema } & TaskBody<never, unknown>): AnyTask {
  const { payload = null, run, ...rest } = options;
  if (typeof options.id !== "string" || !new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new TypeError(
      `task(): ${JSON.stringify(options.id)} is not a task id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  checkSecretNames("task", options.id, options.secrets);
  if (typeof run !== "function") throw new TypeError(`task(): "${options.id}" has no run function`);
  const { tasks } = registry();
  if (tasks.has(options.id))
    throw new Error(`task(): "${options.id}" is declared twice; each task needs an id of its own`);
  const declared: AnyTask = Object.freeze({
    kind: "task" as const,
    id: options.id,
    options: Object.freeze(rest),
    payload,
    run,
    start: (childPayload?: unknown, childOptions?: ChildStartOptions) =>
      startChild(options.id, childPayload, childOptions),
    call: (childPayload?: unknown, childOptions?: ChildCallOptions) =>
      callChild(options.id, childPayload, childOptions),
  });
  tasks.set(options.id, declared);
  return declared;
}
