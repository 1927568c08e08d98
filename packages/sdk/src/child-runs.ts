import type { Run, WaitState } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { toWireStart, type StartOptions } from "./client/start-options.ts";
import { findCurrentRun, locateCurrentRun, locateOutsideStep } from "./current-run.ts";
import { ChildRunError, WaitTimeoutError } from "./durable-errors.ts";
import type { DurationInput } from "./duration-input.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";
import { toJsonValue } from "./runtime/output.ts";
import { toTimeout } from "./tokens.ts";

/** How a child run starts. It takes no idempotency key: a run starts each child once. */
export type ChildStartOptions = Omit<StartOptions, "idempotencyKey" | "idempotencyKeyTtl">;

/** Options of `task.call()`. */
export type ChildCallOptions = ChildStartOptions & {
  /** Reject with `WaitTimeoutError` after this long; the child goes on. Default: no limit. */
  timeout?: DurationInput;
};

function locate(taskId: string, method: "start" | "call"): DurableRun {
  if (findCurrentRun() === undefined)
    throw new Error(
      `The task "${taskId}" can start itself only inside the code of a run. Elsewhere use \`new Client().tasks.start(task, payload)\`.`,
    );
  return locateOutsideStep(locateCurrentRun, `${taskId}.${method}()`);
}

async function startOn(
  run: DurableRun,
  task: string,
  payload: unknown,
  options: ChildStartOptions,
): Promise<string> {
  const sent =
    payload === undefined ? undefined : toJsonValue(payload, `The payload of "${task}"`, LIMITS.payloadBytes);
  const fields = toWireStart(sent, options);
  const started = await run.effect("child_run", task, (position) => ({
    kind: "child-runs",
    position,
    task,
    ...fields,
  }));
  return (started as Pick<Run, "id">).id;
}

/** Starts a run of the task as a child of the current run. */
export async function startChild(
  task: string,
  payload: unknown,
  options: ChildStartOptions = {},
): Promise<{ id: string }> {
  return { id: await startOn(locate(task, "start"), task, payload, options) };
}

function readEnding(task: string, runId: string, state: WaitState): unknown {
  if (state.status === "timed_out")
    throw new WaitTimeoutError(`The run ${runId} of "${task}" did not end within the timeout`);
  const ended = state.value as Pick<Run, "status" | "output" | "failure"> | null;
  if (ended?.status === "succeeded") return ended.output;
  throw new ChildRunError(task, runId, ended?.status ?? "cancelled", ended?.failure ?? null);
}

/** Starts a run of the task as a child of the current run, and waits for its output. */
export async function callChild(
  task: string,
  payload: unknown,
  options: ChildCallOptions = {},
): Promise<unknown> {
  const run = locate(task, "call");
  const { timeout, ...startOptions } = options;
  const limit = toTimeout(timeout);
  const id = await startOn(run, task, payload, startOptions);
  return readEnding(task, id, await run.wait(id, { kind: "run", run_id: id, ...limit }));
}
