import { AsyncLocalStorage } from "node:async_hooks";
import type { ExecuteInput, ExecuteResult } from "@keelson/contract/plain";
import type { AnyActor } from "../actor.ts";
import type { RunContext } from "../context.ts";
import { provideRunStorage, runInside } from "../current-run.ts";
import { checkPayload } from "../payload-schema.ts";
import { registry } from "../registry.ts";
import type { AnyTask } from "../task.ts";
import { createContext } from "./create-context.ts";
import { DurableRun } from "./durable/durable-run.ts";
import { ContinueSignal } from "./durable/continue-signal.ts";
import type { RunInput } from "./durable/run-input.ts";
import { fail, failureOf } from "./failure.ts";
import { encodeOutput } from "./output.ts";
import { UsageError } from "../keelson-error.ts";

provideRunStorage(() => new AsyncLocalStorage());

/** The ending that an abort has already decided, whatever the code made of it. */
function endingOfAbort(signal: AbortSignal): ExecuteResult {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === "TimeoutError")
    return fail("timed_out", reason.message, { retryable: true });
  return { outcome: "cancelled" };
}

type Entrypoint = { task: AnyTask } | { actor: AnyActor };

function findEntrypoint({ kind, declaredId }: ExecuteInput["entrypoint"]): Entrypoint | null {
  const task = kind === "task" ? registry().tasks.get(declaredId) : undefined;
  if (task !== undefined) return { task };
  const actor = kind === "actor" ? registry().actors.get(declaredId) : undefined;
  return actor === undefined ? null : { actor };
}

/** The code of an attempt, ready to run. */
type Prepared = {
  run(): unknown;
  /** Null when nothing is to be called. */
  onFailure: ((error: unknown) => unknown) | null;
  context: RunContext;
};

async function prepareTask(task: AnyTask, durable: DurableRun): Promise<ExecuteResult | Prepared> {
  let payload: unknown = durable.input.run.payload;
  if (task.payload !== null) {
    const checked = await checkPayload(task.payload, payload);
    if ("issues" in checked) {
      const places = checked.issues.map(({ path, message }) =>
        path === "" ? message : `${path}: ${message}`,
      );
      return fail("payload_invalid", `The payload does not fit "${task.id}": ${places.join("; ")}`);
    }
    payload = checked.value;
  }
  const context = createContext(durable, {
    ...{ schema: null, output: null, state: null },
    idleTimeout: undefined,
  });
  const { onFailure } = task;
  return {
    context,
    run: () => task.run(payload as never, context),
    onFailure: onFailure && ((error) => onFailure({ payload: payload as never, error }, context)),
  };
}

function prepareActor(actor: AnyActor, durable: DurableRun): ExecuteResult | Prepared {
  const { input: schema, output, state } = actor;
  const { idleTimeout } = actor.options;
  const context = createContext(durable, { schema, output, state, idleTimeout });
  if (context.session === null)
    return fail("bundle_error", `The run of the actor "${actor.id}" has no session`);
  const session = context.session as never;
  const { onFailure } = actor;
  return {
    context,
    run: () => actor.run(session, context),
    onFailure: onFailure && ((error) => onFailure({ session, error }, context)),
  };
}

type Ended = { ending: ExecuteResult; error: unknown };

async function runPrepared(code: Prepared, durable: DurableRun): Promise<Ended> {
  const { signal, entrypoint } = durable.input;
  try {
    await durable.begin();
    // Code that begins hears of an abort by its signal, and of one that came before by nothing.
    signal.throwIfAborted();
    const value: unknown = await code.run();
    if (signal.aborted) return { ending: endingOfAbort(signal), error: null };
    const { ending: continued } = durable.continuing;
    if (continued !== null) return { ending: continued, error: tellCaught(code) };
    const output = encodeOutput(entrypoint.declaredId, value);
    if ("text" in output) return { ending: { outcome: "succeeded", output: output.text }, error: null };
    return { ending: output, error: new UsageError(output.failure.message) };
  } catch (thrown) {
    if (signal.aborted) return { ending: endingOfAbort(signal), error: thrown };
    const { ending: continued } = durable.continuing;
    if (continued === null) return { ending: failureOf(thrown), error: thrown };
    return { ending: continued, error: thrown instanceof ContinueSignal ? null : tellCaught(code, thrown) };
  }
}

/** What the code makes of its continuation counts no more. */
function tellCaught({ context }: Prepared, thrown?: unknown): null {
  context.logger.warn(
    "The code caught what ctx.continueAs() throws. The run continues, and what the code did after that is dropped.",
    ...(thrown === undefined ? [] : [{ error: thrown }]),
  );
  return null;
}

/** No attempt follows: the server decides alike by the same numbers. */
function isFinalFailure(ending: ExecuteResult, { input: { run, signal }, over }: DurableRun): boolean {
  if (ending.outcome !== "failed" || signal.aborted || over) return false;
  return !ending.failure.retryable || run.attempt_number >= run.max_attempts;
}

async function runCode(entrypoint: Entrypoint, durable: DurableRun): Promise<ExecuteResult> {
  const { signal } = durable.input;
  let prepared: ExecuteResult | Prepared;
  try {
    prepared =
      "task" in entrypoint
        ? await prepareTask(entrypoint.task, durable)
        : prepareActor(entrypoint.actor, durable);
  } catch (thrown) {
    return signal.aborted ? endingOfAbort(signal) : failureOf(thrown);
  }
  if (signal.aborted) return endingOfAbort(signal);
  if ("outcome" in prepared) return prepared;
  const { ending, error } = await runPrepared(prepared, durable);
  if (prepared.onFailure === null || !isFinalFailure(ending, durable)) return ending;
  durable.continuing.refuse("ctx.continueAs() was called in onFailure: the run has failed by then.");
  try {
    await prepared.onFailure(error);
  } catch (thrown) {
    prepared.context.logger.error("onFailure failed", { error: thrown });
  }
  // The failure was decided before, whatever happened since.
  return ending;
}

/**
 * Runs one attempt of a declared task or actor, or goes on with one. Never rejects: every ending is a result. Suspended,
 * the code stays where it waits and never goes on here.
 */
export async function execute(input: RunInput): Promise<ExecuteResult> {
  const { kind, declaredId } = input.entrypoint;
  const entrypoint = findEntrypoint(input.entrypoint);
  if (entrypoint === null) return fail("bundle_error", `The bundle declares no ${kind} "${declaredId}"`);
  const durable = new DurableRun(input);
  const code = runInside({ run: durable, step: null, nameMessage: null }, () => runCode(entrypoint, durable));
  return Promise.race([code.then((ending) => durable.finish(ending)), durable.interrupted]);
}
