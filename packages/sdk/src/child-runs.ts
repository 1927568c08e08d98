import type { Run, StartTask, WaitState } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { toWireStart, type StartOptions } from "./client/start-options.ts";
import { findCurrentRun, locateCurrentRun, locateOutsideStep } from "./current-run.ts";
import { ChildRunError, RefusedError, WaitTimeoutError } from "./durable-errors.ts";
import type { DurationInput } from "./duration-input.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";
import { untilInterrupted } from "./runtime/durable/until-interrupted.ts";
import { toJsonValue } from "./runtime/output.ts";
import { toTimeout } from "./tokens.ts";
import { UsageError } from "./keelson-error.ts";

/** How a child run starts. It takes no idempotency key: a run starts each child once. */
export type ChildStartOptions = Omit<StartOptions, "idempotencyKey" | "idempotencyKeyTtl">;

/** Options of `task.call()`. */
export type ChildCallOptions = ChildStartOptions & {
  /** Reject with `WaitTimeoutError` after this time; the child continues. Default: no limit. */
  timeout?: DurationInput;
};

/** One child of `task.batchCall()`: its payload, and how it starts. */
export type BatchCallItem<Input = unknown> = ChildCallOptions &
  (undefined extends Input
    ? {
        /** Default null. */
        payload?: Input;
      }
    : {
        /** The task's payload. */
        payload: Input;
      });

/** How one child of `task.batchCall()` ended. `runId` is null for a child that could not start. */
export type BatchCallResult<Output = unknown> =
  | { runId: string; output: Output; error: null }
  | { runId: string | null; output: null; error: ChildRunError | WaitTimeoutError | RefusedError };

function locate(taskId: string, method: "start" | "call" | "batchCall"): DurableRun {
  if (findCurrentRun() === undefined)
    throw new UsageError(
      `The task "${taskId}" can start itself only inside the code of a run. Elsewhere use \`new Client().tasks.start(task, payload)\`.`,
    );
  return locateOutsideStep(locateCurrentRun, `${taskId}.${method}()`);
}

type ChildStart = StartTask & { task: string };

/** Throws for what cannot be sent. */
function toChildStart(task: string, payload: unknown, options: ChildStartOptions): ChildStart {
  const sent =
    payload === undefined ? undefined : toJsonValue(payload, `The payload of "${task}"`, LIMITS.payloadBytes);
  const fields = toJsonValue(
    toWireStart(undefined, options),
    `The start of "${task}"`,
    LIMITS.bodyBytes,
  ) as StartTask;
  return { task, ...fields, ...(sent !== undefined && { payload: sent }) };
}

async function begin(
  run: DurableRun,
  start: ChildStart,
  begun?: (position: number) => void,
): Promise<string> {
  const makeCall = (position: number) => ({ kind: "child-runs", position, ...start }) as const;
  const started = await run.effect("child_run", start.task, makeCall, undefined, begun);
  return (started as Pick<Run, "id">).id;
}

/** Starts a run of the task as a child of the current run. */
export async function startChild(
  task: string,
  payload: unknown,
  options: ChildStartOptions = {},
): Promise<{ id: string }> {
  return { id: await begin(locate(task, "start"), toChildStart(task, payload, options)) };
}

function readEnding(task: string, runId: string, state: WaitState): unknown {
  if (state.status === "timed_out")
    throw new WaitTimeoutError(`The run ${runId} of "${task}" did not end within the timeout`);
  const ended = state.value as Pick<Run, "status" | "output" | "failure"> | null;
  if (ended?.status === "succeeded") return ended.output;
  throw new ChildRunError(task, runId, ended?.status ?? "cancelled", ended?.failure ?? null);
}

type Limit = ReturnType<typeof toTimeout>;

/** Starts a child and waits for its end. An interrupt that ends this wait cancels the child. */
const untilEnded = (
  run: DurableRun,
  start: ChildStart,
  limit: Limit,
): Promise<{ id: string; state: WaitState }> =>
  untilInterrupted(run, async ({ begun, outcome }) => {
    const id = await outcome(begin(run, start, begun));
    return { id, state: await run.wait(id, { kind: "run", run_id: id, ...limit }) };
  });

/** Starts a run of the task as a child of the current run, and waits for its output. */
export async function callChild(
  task: string,
  payload: unknown,
  { timeout, ...options }: ChildCallOptions = {},
): Promise<unknown> {
  const run = locate(task, "call");
  const limit = toTimeout(timeout);
  const { id, state } = await untilEnded(run, toChildStart(task, payload, options), limit);
  return readEnding(task, id, state);
}

async function settle(run: DurableRun, start: ChildStart, limit: Limit): Promise<BatchCallResult> {
  let runId: string | null = null;
  try {
    const { id, state } = await untilEnded(run, start, limit);
    runId = id;
    return { runId: id, output: readEnding(start.task, id, state), error: null };
  } catch (error) {
    const isEnding =
      error instanceof ChildRunError || error instanceof WaitTimeoutError || error instanceof RefusedError;
    if (!isEnding) throw error;
    return { runId, output: null, error };
  }
}

/**
 * Starts children of the current run, and waits until all have ended. Nothing starts when one of them cannot be sent.
 */
export async function callChildren(
  task: string,
  items: readonly BatchCallItem[],
): Promise<BatchCallResult[]> {
  const run = locate(task, "batchCall");
  const children = items.map(({ payload, timeout, ...options }) => ({
    start: toChildStart(task, payload, options),
    limit: toTimeout(timeout),
  }));
  return Promise.all(children.map(({ start, limit }) => settle(run, start, limit)));
}
