import type { Run, Task } from "./resources.ts";
import type { AnyTask, InputOf, OutputOf } from "../task.ts";
import { withKey } from "./automatic-key.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { createStartLane, type StartLane } from "./start-lane.ts";
import { toWireStart, type StartOptions } from "./start-options.ts";
import { BadRequestError, ApiError } from "./errors.ts";
import { timeoutOf, type RequestOptions } from "./exchange.ts";
import { NotJsonError } from "../json-text.ts";
import type { Transport } from "./transport.ts";
import { taskShape } from "./wire-shapes.ts";

/** A run whose output has the task's type; null until it has succeeded. */
export type RunOf<T> = Omit<Run, "output"> & {
  /** The output of the run; null until the run has succeeded. */
  output: OutputOf<T> | null;
};

/** Options of `tasks.start()`. */
export type StartCallOptions = StartOptions & Omit<RequestOptions, "idempotencyKey">;

/** The arguments after the task: a payload that may be absent may be left out. */
type StartArguments<T> =
  undefined extends InputOf<T>
    ? [payload?: InputOf<T>, options?: StartCallOptions]
    : [payload: InputOf<T>, options?: StartCallOptions];

/** One start of a batch. Its payload has the type that the task declares; it may be left out where it may be absent. */
export type BatchStart<T extends AnyTask | string = AnyTask | string> = {
  /** The task to start. */
  task: T;
} & (undefined extends InputOf<T>
  ? {
      /** Any JSON of up to 512 KiB. Default null. */
      payload?: InputOf<T>;
    }
  : {
      /** Up to 512 KiB of JSON. */
      payload: InputOf<T>;
    }) &
  StartOptions;

/**
 * One start of a batch of one task, by the task or by its id. The task's type is given and never inferred: of tasks that
 * differ, each payload is held against its own task.
 */
export type NamedBatchStart<T extends AnyTask> = Omit<BatchStart<T>, "task"> & {
  /** The task to start, or its id. */
  task: T | string;
};

/** The outcome of one start of a batch. */
export type BatchStartResult<T = unknown> = { run: RunOf<T>; error: null } | { run: null; error: ApiError };

/** As the server would refuse it. */
const refusalOf = ({ message, cause }: TypeError): ApiError =>
  new BadRequestError({ code: "invalid_request", message, cause });

const idOf = (task: AnyTask | string): string => (typeof task === "string" ? task : task.id);

/** `client.tasks`. */
export type TasksApi = {
  /**
   * The tasks of the current deployment.
   *
   * @example
   * ```ts
   * for await (const task of client.tasks.list()) console.log(task.declaredId);
   * ```
   */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Task>;
  /**
   * By its id (`task_…`).
   *
   * @example
   * ```ts
   * const task = await client.tasks.get("task_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Task>;
  /**
   * Starts a run: `start(task, payload)`, or by name with the task's types, `start<typeof report>("report", payload)`.
   * Concurrent calls share requests. When a response is lost, the client repeats the start, which starts one run only:
   * without your own `idempotencyKey`, the client makes one.
   *
   * @example
   * ```ts
   * const run = await client.tasks.start("report", { month: "2026-11" }, { idempotencyKey: "report-2026-11" });
   * ```
   */
  start<T extends AnyTask = AnyTask>(task: T | string, ...rest: StartArguments<T>): Promise<RunOf<T>>;
  /**
   * Starts any number of runs. Each start succeeds or fails alone, also when a payload is not JSON. The results have the
   * order of the starts. Rejects only when `signal` is aborted.
   *
   * @example
   * ```ts
   * const results = await client.tasks.startBatch([
   *   { task: "resize", payload: { image: "a.png" }, idempotencyKey: "a.png" },
   *   { task: "resize", payload: { image: "b.png" }, idempotencyKey: "b.png" },
   * ]);
   * const refused = results.filter(({ error }) => error !== null);
   * ```
   */
  startBatch<const T extends readonly (AnyTask | string)[]>(
    starts: { readonly [K in keyof T]: BatchStart<T[K]> },
    options?: Pick<RequestOptions, "signal">,
  ): Promise<{ -readonly [K in keyof T]: BatchStartResult<T[K]> }>;
  /**
   * Starts any number of runs of one task, by id with the task's types: the caller needs the task's type, not its code.
   *
   * @example
   * ```ts
   * import type { Task } from "@keelson/sdk";
   *
   * // Of a task that you have: typeof resize, after import type { resize }.
   * type Resize = Task<"resize", { image: string }, { width: number }>;
   *
   * const images = ["a.png", "b.png"];
   * await client.tasks.startBatch<Resize>(images.map((image) => ({ task: "resize", payload: { image } })));
   * ```
   */
  startBatch<T extends AnyTask = never>(
    starts: readonly NamedBatchStart<NoInfer<T>>[],
    options?: Pick<RequestOptions, "signal">,
  ): Promise<BatchStartResult<T>[]>;
};

export function createTasksApi(transport: Transport): TasksApi {
  const lanesByOwner = new WeakMap<object, StartLane>();
  // Starts of different runs are never in one request: it carries the credential of one of them.
  const laneOf = (owner: object): StartLane => {
    let lane = lanesByOwner.get(owner);
    if (lane === undefined) {
      lane = createStartLane(transport);
      lanesByOwner.set(owner, lane);
    }
    return lane;
  };

  async function start(
    task: AnyTask | string,
    payload?: unknown,
    options: StartCallOptions = {},
  ): Promise<Run> {
    const { signal, requestTimeout } = options;
    const body = toWireStart(
      payload,
      withKey(options, { ...transport.config, timeoutMs: timeoutOf(transport.config, options) }),
    );
    return laneOf(transport.owner())({
      task: idOf(task),
      body,
      ...(signal && { signal }),
      ...(requestTimeout !== undefined && { requestTimeout }),
    });
  }

  return {
    list: (query = {}, options = {}) => listOf(transport, taskShape, "/v1/tasks", "tasks", query, options),
    get: (id, options = {}) =>
      transport.ask(taskShape, { method: "GET", path: `/v1/tasks/${encodeURIComponent(id)}`, ...options }),
    start: start as TasksApi["start"],
    startBatch: async (
      starts: readonly BatchStart[],
      { signal }: Pick<RequestOptions, "signal"> = {},
    ): Promise<BatchStartResult[]> => {
      const one = async ({ task, payload, ...options }: BatchStart): Promise<BatchStartResult> => {
        try {
          return { run: await start(task, payload, { ...options, ...(signal && { signal }) }), error: null };
        } catch (error) {
          if (error instanceof ApiError) return { run: null, error };
          if (error instanceof NotJsonError) return { run: null, error: refusalOf(error) };
          throw error;
        }
      };
      return Promise.all(starts.map(one));
    },
  };
}
