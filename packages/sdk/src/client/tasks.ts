import type { Run, Task } from "@keelson/contract";
import type { AnyTask, InputOf, OutputOf } from "../task.ts";
import { createPagedList, type PagedList, type PageQuery } from "./paged-list.ts";
import { createStartLane } from "./start-lane.ts";
import { toWireStart, type StartOptions } from "./start-options.ts";
import { KeelsonError } from "./errors.ts";
import type { RequestOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";

/** A run whose output has the task's type; null until it has succeeded. */
export type RunOf<T> = Omit<Run, "output"> & {
  /** What the run gave; null until it has succeeded. */
  output: OutputOf<T> | null;
};

/** Options of `tasks.start()`. */
export type StartCallOptions = StartOptions & Omit<RequestOptions, "idempotencyKey">;

/** The arguments after the task: a payload that may be absent may be left out. */
type StartArguments<T> =
  undefined extends InputOf<T>
    ? [payload?: InputOf<T>, options?: StartCallOptions]
    : [payload: InputOf<T>, options?: StartCallOptions];

/** One start of a batch. */
export type BatchStart = {
  /** What is started. */
  task: AnyTask | string;
  /** Any JSON of up to 512 KiB. Default null. */
  payload?: unknown;
} & StartOptions;

/** What became of one start of a batch. */
export type BatchStartResult = { run: Run; error: null } | { run: null; error: KeelsonError };

const idOf = (task: AnyTask | string): string => (typeof task === "string" ? task : task.id);

/** `client.tasks`. */
export type TasksApi = {
  /** The tasks of the current deployment. */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Task>;
  /** By its id (`task_…`). */
  get(id: string, options?: RequestOptions): Promise<Task>;
  /**
   * Starts a run: `start(task, payload)`, or by name with the task's types, `start<typeof report>("report", payload)`.
   * Concurrent calls share requests. Without an `idempotencyKey` a start whose answer is lost is not repeated: it
   * rejects with `outcomeUnknown: true`.
   */
  start<T extends AnyTask = AnyTask>(task: T | string, ...rest: StartArguments<T>): Promise<RunOf<T>>;
  /** Starts any number of runs, each on its own; the results are in the order of the starts. Rejects only when `signal` is aborted. */
  startBatch(
    starts: readonly BatchStart[],
    options?: Pick<RequestOptions, "signal">,
  ): Promise<BatchStartResult[]>;
};

export function createTasksApi(transport: Transport): TasksApi {
  const lanes = { once: createStartLane(transport, false), repeatable: createStartLane(transport, true) };

  async function start(
    task: AnyTask | string,
    payload?: unknown,
    options: StartCallOptions = {},
  ): Promise<Run> {
    const { signal, timeoutMs } = options;
    const lane = options.idempotencyKey === undefined ? lanes.once : lanes.repeatable;
    const body = toWireStart(payload, options);
    return lane({
      task: idOf(task),
      body,
      ...(signal && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }

  return {
    list: (query = {}, options = {}) =>
      createPagedList(async (cursor) => {
        const page = await transport.request<{ tasks: Task[]; next_cursor: string | null }>({
          method: "GET",
          path: "/v1/tasks",
          query: { limit: query.limit, cursor },
          ...options,
        });
        return { items: page.tasks, next_cursor: page.next_cursor };
      }, query.cursor),
    get: (id, options = {}) =>
      transport.request({ method: "GET", path: `/v1/tasks/${encodeURIComponent(id)}`, ...options }),
    start: start as TasksApi["start"],
    async startBatch(starts, { signal } = {}) {
      const one = async ({ task, payload, ...options }: BatchStart): Promise<BatchStartResult> => {
        try {
          return { run: await start(task, payload, { ...options, ...(signal && { signal }) }), error: null };
        } catch (error) {
          if (error instanceof KeelsonError) return { run: null, error };
          throw error;
        }
      };
      return Promise.all(starts.map(one));
    },
  };
}
