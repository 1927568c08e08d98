import type { ExecuteInput } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import { toWireRetry } from "../retry-options.ts";
import { toJsonValue } from "../runtime/output.ts";
import type { AnyTask, InputOf, OutputOf, TaskOptions } from "../task.ts";
import { checkDeclared } from "./check-declared.ts";
import { checkReplay } from "./check-replay.ts";
import { Harness, type TestOptions } from "./harness.ts";
import type { NewRun } from "./kept-run.ts";
import { endedOf, viewOf, type EndedRun, type RunView } from "./run-view.ts";
import type { TestToken } from "./test-tokens.ts";

/** Options of `runTask()`. */
export type RunTaskOptions = TestOptions & {
  /** The metadata that the run starts with. */
  metadata?: Readonly<Record<string, unknown>>;
  /** The tags of the run. */
  tags?: readonly string[];
};

/** What a test can do while code runs in process. */
export type TestControls = {
  /**
   * Resolves with the next token that the code or a child run has created. Each token is returned once, in the order of their creation. Rejects
   * with a UsageError when the code ends and there is no other token.
   */
  token(): Promise<TestToken>;
  /** Resolves when the code waits for a token or for input, or has ended: nothing goes on until the test acts. */
  rest(): Promise<void>;
  /**
   * Lets time pass once the code is at rest, and resolves when it is at rest again. Without a duration: until the next timeout, such as that
   * of a token, of a wait or of `receive()`. Rejects with a UsageError when there is none.
   */
  passTime(duration?: DurationInput): Promise<void>;
};

/** A run of a task in this process. */
export type TestRun<Output = unknown> = RunView<Output> &
  TestControls & {
    /**
     * Resolves with how the run ended, also when it failed. Rejects with a `NondeterministicReplayError` when the replay at the end makes
     * other durable calls than the run made.
     */
    readonly ended: Promise<EndedRun<Output>>;
    /** Cancels the run and its children. A run that only waits ends at once, and its code does not continue. In a run that works, `ctx.signal` is aborted. */
    cancel(): void;
  };

type Arguments<Input> = undefined extends Input
  ? [payload?: Input, options?: RunTaskOptions]
  : [payload: Input, options?: RunTaskOptions];

/** What runs of a test have in common. Throws a UsageError for what it cannot do. */
export const newRun = (
  { options }: Harness,
  entrypoint: ExecuteInput["entrypoint"],
  declared: Readonly<TaskOptions>,
): NewRun => ({
  ...{ entrypoint, payload: null, metadata: {}, tags: [] },
  secrets: checkDeclared(entrypoint, declared, options.secrets),
  queue: (typeof declared.queue === "string" ? declared.queue : declared.queue?.name) ?? "default",
  retry: declared.retry && toWireRetry(declared.retry),
  ...{ parentRunId: null, session: null, turn: null, delayMs: 0, stub: null },
});

export const controlsOf = (harness: Harness): TestControls => ({
  token: () => harness.tokens.next(),
  rest: () => harness.rest(),
  passTime: (duration) =>
    harness.passTime(duration === undefined ? null : toMilliseconds(duration, "passTime()")),
});

/** Replays what has succeeded, if the test does not want otherwise. */
export async function replayAll(harness: Harness): Promise<void> {
  if (harness.options.replay === false) return;
  for (const run of harness.runs) await checkReplay(harness, run);
}

/**
 * Runs a task in this process, without a server. Steps, waits, tokens, child runs and retries work as on a server. Time is skipped: a wait for
 * a time, a pause between two tries and the delay of a retry take no time. At the end, the code is replayed on its journal.
 *
 * Throws a UsageError for what cannot be tested in process, such as a task with a sandbox, and for a declared secret without a value.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { task } from "@keelson/sdk";
 * import { runTask } from "@keelson/sdk/testing";
 *
 * const greet = task({
 *   id: "greet",
 *   run: async ({ name }: { name: string }, { step, wait }) => {
 *     await wait.for("1d");
 *     return step("greet", () => `Hello ${name}`);
 *   },
 * });
 *
 * const { output } = await runTask(greet, { name: "Ada" }).ended;
 * assert.equal(output, "Hello Ada");
 * ```
 */
export function runTask<T extends AnyTask>(task: T, ...args: Arguments<InputOf<T>>): TestRun<OutputOf<T>> {
  const [payload, options = {}] = args;
  const entrypoint = { kind: "task", declaredId: task.id } as const;
  const harness = new Harness(options);
  const run = harness.start({
    ...newRun(harness, entrypoint, task.options),
    payload: toJsonValue(payload, `The payload of "${task.id}"`, LIMITS.payloadBytes),
    metadata: { ...options.metadata },
    tags: options.tags ?? [],
  });
  const ended = (async () => {
    await run.ended;
    harness.tokens.giveUp(`The run ${run.id} of "${task.id}" has ended as ${run.status}`);
    await replayAll(harness);
    return endedOf(run) as EndedRun<OutputOf<T>>;
  })();
  // A test that does not look at the end is not ended by it.
  ended.catch(() => undefined);
  const controls = { ...controlsOf(harness), ended, cancel: () => run.cancel() };
  const view = viewOf<OutputOf<T>>(run, harness.childrenOf);
  return Object.defineProperties(view, Object.getOwnPropertyDescriptors(controls)) as TestRun<OutputOf<T>>;
}
