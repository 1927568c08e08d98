import type { StandardTypedV1 } from "@standard-schema/spec";
import {
  DECLARED_ID_PATTERN,
  type ExecutionMode,
  type Isolation,
  type RunPermission,
} from "@keelson/contract/plain";
import {
  callChild,
  callChildren,
  startChild,
  type BatchCallItem,
  type BatchCallResult,
  type ChildCallOptions,
  type ChildStartOptions,
} from "./child-runs.ts";
import { checkIsolation, type TaskFolderOption } from "./check-isolation.ts";
import { checkOptions, type OptionNames } from "./check-options.ts";
import { checkPermissions } from "./check-permissions.ts";
import { checkSecretNames } from "./check-secret-names.ts";
import type { RunContext } from "./context.ts";
import type { TaskContext } from "./continue-as.ts";
import type { DurationInput } from "./duration-input.ts";
import type { JsonInput, JsonOf } from "./json-type.ts";
import type { JsonSchema, PayloadSchema } from "./payload-schema.ts";
import type { Queue } from "./queue.ts";
import { registry } from "./registry.ts";
import type { Sandbox } from "./sandbox.ts";
import type { RetryOptions } from "./retry-options.ts";
import { UsageError } from "./keelson-error.ts";

/** The options of `task()` besides `run` and `payload`. */
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
   * A sandbox of `sandbox()`, or its name. Each run that is started without a workspace gets a new workspace of this
   * sandbox: `ctx.workspace`.
   */
  sandbox?: Sandbox | string;
  /**
   * Makes the task a tool of the server's MCP endpoint, `POST /mcp`: its name is the task's id, its input the payload. Tell models
   * in `description` what the task does and when to call it. For tasks only.
   */
  mcp?: { description: string };
  /** The most memory its process may use, in MiB. */
  memoryMb?: number;
  /**
   * The isolation that its runs require. `namespace`: the process runs in namespaces with a filter of system calls. It
   * sees its own files, the machine's `folders`, and no other process. Only a worker with this tier runs it. `process`
   * (default): an ordinary process on the worker's machine.
   */
  isolation?: Isolation;
  /**
   * Folders of the worker's machine that its runs see in the namespace tier, at the same absolute paths. A path alone is
   * read-only. An attempt on a worker without one of these folders fails.
   */
  folders?: readonly TaskFolderOption[];
  /**
   * Names of the secrets that its runs need; `ctx.secrets` has their values. A run that cannot have all of them fails.
   */
  secrets?: readonly string[];
  /**
   * The permissions of its runs in their environment, for `ctx.client` and `new Client()`. Default: all permissions that
   * a run can have, except `schedules.write`. No run can manage secrets, deployments, keys or people.
   */
  permissions?: readonly RunPermission[];
};

export const ENTRYPOINT_OPTIONS = {
  ...{ id: true, description: true, retry: true, queue: true, maxDuration: true, ttl: true, execution: true },
  ...{ sandbox: true, memoryMb: true, isolation: true, folders: true, secrets: true, permissions: true },
} as const satisfies OptionNames<Omit<TaskOptions, "mcp">>;
const TASK_OPTIONS = { ...ENTRYPOINT_OPTIONS, mcp: true, payload: true, run: true, onFailure: true } as const;

/** A declared task. `Input` is the type of its payload, `Output` the type of its output. */
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
  readonly run: (payload: never, ctx: TaskContext) => unknown;
  /** Called when a run fails; null without one. */
  readonly onFailure: ((failure: TaskFailure<never>, ctx: RunContext) => unknown) | null;
  /**
   * Inside a run: starts a child run of this task, once, and returns its id. The child is cancelled with its parent.
   * Throws outside of a run, where a `Client` starts tasks.
   */
  start(...args: ChildArguments<Input, ChildStartOptions>): Promise<{ id: string }>;
  /**
   * Inside a run: starts a child run and waits for its output; the run may be suspended meanwhile. Rejects with
   * `ChildRunError` when the child does not succeed, and with `WaitTimeoutError` after `timeout`. Rejects with `InterruptedError` when a
   * message of `output.message()` is interrupted that is open and began before; the child is cancelled then.
   */
  call(...args: ChildArguments<Input, ChildCallOptions>): Promise<Output>;
  /**
   * Inside a run: starts a child run for each item, and waits until all of them have ended. The results have the order
   * of the items. A child that did not succeed has an `error` instead of an output. An interrupt of a message cancels all of them, as with `call()`.
   */
  batchCall(items: readonly BatchCallItem<Input>[]): Promise<BatchCallResult<Output>[]>;
  /** Types alone; nothing is here at run time. */
  readonly "~types"?: { readonly input: Input; readonly output: Output };
};

/** A payload that may be absent may be left out. */
type ChildArguments<Input, Options> = undefined extends Input
  ? [payload?: Input, options?: Options]
  : [payload: Input, options?: Options];

/** A task with any types. */
export type AnyTask = Task;

/** The type of the task's payload. */
export type InputOf<T> = T extends { readonly "~types"?: { readonly input: infer Input } } ? Input : unknown;
/** The type of the task's output. */
export type OutputOf<T> = T extends { readonly "~types"?: { readonly output: infer Output } }
  ? Output
  : unknown;

/** The argument of `onFailure`. */
export type TaskFailure<Payload = unknown> = {
  /** As `run` had it. */
  payload: Payload;
  /** The error that `run` threw last. */
  error: unknown;
};

type TaskBody<Payload, Output, Input> = {
  /** The code. */
  run: (payload: Payload, ctx: TaskContext<NoInfer<Input>>) => Output | Promise<Output>;
  /**
   * Called after the last attempt has failed, before the run is `failed`. It is code of the run: its steps and waits are
   * in the run's journal. An error that it throws is logged and has no other effect. It is not called when the run is
   * cancelled, exceeds its `maxDuration`, or has lost its worker for the last time.
   */
  onFailure?: (failure: TaskFailure<NoInfer<Payload>>, ctx: RunContext) => unknown;
};

/**
 * Declares a task. The payload's types come from its Standard Schema: its input type for starts, its output type
 * for `run`. Without one, or with a plain JSON Schema, they come from how `run` annotates its parameter.
 *
 * Throws a UsageError for an invalid id, for an id that is declared twice, and for an option that does not exist.
 */
export function task<const Id extends string, Schema extends StandardTypedV1, Output>(
  options: TaskOptions & { id: Id; payload: Schema } & TaskBody<
      StandardTypedV1.InferOutput<Schema>,
      Output,
      JsonInput<StandardTypedV1.InferInput<Schema>>
    >,
): Task<Id, JsonInput<StandardTypedV1.InferInput<Schema>>, JsonOf<Awaited<Output>>>;
export function task<const Id extends string, Payload = unknown, Output = unknown>(
  options: TaskOptions & { id: Id; payload?: JsonSchema } & TaskBody<Payload, Output, JsonInput<Payload>>,
): Task<Id, JsonInput<Payload>, JsonOf<Awaited<Output>>>;
export function task(
  options: TaskOptions & { payload?: PayloadSchema } & TaskBody<never, unknown, unknown>,
): AnyTask {
  const { payload = null, run, onFailure = null, ...rest } = options;
  if (typeof options.id !== "string" || !new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new UsageError(
      `task(): ${JSON.stringify(options.id)} is not a task id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  checkOptions(`task(): "${options.id}"`, options, TASK_OPTIONS);
  checkSecretNames("task", options.id, options.secrets);
  checkPermissions("task", options.id, options.permissions);
  checkIsolation("task", options.id, options);
  if (typeof run !== "function") throw new UsageError(`task(): "${options.id}" has no run function`);
  const { tasks } = registry();
  if (tasks.has(options.id))
    throw new UsageError(`task(): "${options.id}" is declared twice; each task needs an id of its own`);
  const declared: AnyTask = Object.freeze({
    kind: "task" as const,
    id: options.id,
    options: Object.freeze(rest),
    payload,
    run,
    onFailure,
    start: (childPayload?: unknown, childOptions?: ChildStartOptions) =>
      startChild(options.id, childPayload, childOptions),
    call: (childPayload?: unknown, childOptions?: ChildCallOptions) =>
      callChild(options.id, childPayload, childOptions),
    batchCall: (items: readonly BatchCallItem[]) => callChildren(options.id, items),
  });
  tasks.set(options.id, declared);
  return declared;
}
