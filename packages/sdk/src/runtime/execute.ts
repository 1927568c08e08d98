import { AsyncLocalStorage } from "node:async_hooks";
import type { ExecuteInput, ExecuteResult } from "@keelson/contract/plain";
import type { AnyActor } from "../actor.ts";
import type { RunContext } from "../context.ts";
import { findCurrentRun, provideRunStorage, runInside, type LocateRun } from "../current-run.ts";
import { createDurableCalls } from "../durable.ts";
import { checkPayload } from "../payload-schema.ts";
import { registry } from "../registry.ts";
import { createSession } from "../session.ts";
import type { InputDefaults } from "../session-input.ts";
import type { AnyTask } from "../task.ts";
import { DurableRun } from "./durable/durable-run.ts";
import { fail, failureOf } from "./failure.ts";
import { createLogger } from "./logger.ts";
import { encodeOutput } from "./output.ts";
import { createMetadata } from "./run-metadata.ts";
import { createRunWorkspace } from "./run-workspace.ts";

provideRunStorage(() => new AsyncLocalStorage());

function createContext(durable: DurableRun, defaults: InputDefaults): RunContext {
  const { run, host, signal, session } = durable.input;
  // The context is of its run wherever it is used; whether that is inside a step, only the place of the call tells.
  const locate: LocateRun = () => {
    const current = findCurrentRun();
    return { run: durable, step: current?.run === durable ? current.step : null };
  };
  const isRepeated = (): boolean => locate("").step === null && durable.replaying;
  const { workspace } = durable.input;
  const inWorkspace = workspace ? createRunWorkspace(workspace, locate) : null;
  const context: Omit<RunContext, "workspace"> = {
    run: {
      id: run.id,
      task: run.task,
      actor: run.actor,
      queue: run.queue,
      tags: run.tags,
      metadata: run.metadata,
      createdAt: new Date(run.created_at),
      projectId: run.project_id,
      environmentId: run.environment_id,
      deploymentId: run.deployment_id,
      deploymentVersion: run.deployment_version,
      parentRunId: run.parent_run_id,
      scheduleId: run.schedule_id,
      workspaceId: run.workspace_id,
    },
    attempt: { number: run.attempt_number, max: run.max_attempts },
    signal,
    secrets: Object.freeze({ ...durable.input.secrets }),
    logger: createLogger(host, isRepeated),
    metadata: createMetadata(run.metadata, host, isRepeated),
    session: session === null ? null : createSession(session, run.turn ?? 1, locate, defaults),
    ...createDurableCalls(locate),
  };
  // Not enumerable: a context may be spread where there is no workspace.
  return Object.defineProperty(context as RunContext, "workspace", {
    get: () => inWorkspace ?? missingWorkspace(run.workspace_id),
  });
}

function missingWorkspace(workspaceId: string | null): never {
  throw new Error(
    workspaceId === null
      ? "The run works in no workspace. Start it with `workspaceId`, or declare a `sandbox` on its task."
      : "This worker did not give the run its workspace; update its agent.",
  );
}

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

async function runTask(task: AnyTask, durable: DurableRun): Promise<ExecuteResult | { value: unknown }> {
  const { run, signal } = durable.input;
  let payload: unknown = run.payload;
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
  if (signal.aborted) return endingOfAbort(signal);
  const context = createContext(durable, { schema: null, idleTimeout: undefined });
  return { value: await task.run(payload as never, context) };
}

async function runActor(actor: AnyActor, durable: DurableRun): Promise<ExecuteResult | { value: unknown }> {
  const context = createContext(durable, { schema: actor.input, idleTimeout: actor.options.idleTimeout });
  if (context.session === null)
    return fail("bundle_error", `The run of the actor "${actor.id}" has no session`);
  return { value: await actor.run(context.session as never, context) };
}

async function runCode(entrypoint: Entrypoint, durable: DurableRun): Promise<ExecuteResult> {
  const { signal, entrypoint: declared } = durable.input;
  let ended: ExecuteResult | { value: unknown };
  try {
    ended =
      "task" in entrypoint
        ? await runTask(entrypoint.task, durable)
        : await runActor(entrypoint.actor, durable);
  } catch (thrown) {
    return signal.aborted ? endingOfAbort(signal) : failureOf(thrown);
  }
  if (signal.aborted) return endingOfAbort(signal);
  if ("outcome" in ended) return ended;
  const output = encodeOutput(declared.declaredId, ended.value);
  return "text" in output ? { outcome: "succeeded", output: output.text } : output;
}

/**
 * Runs one attempt of a declared task or actor, or goes on with one. Never rejects: every ending is a result. Suspended,
 * the code stays where it waits and never goes on here.
 */
export async function execute(input: ExecuteInput): Promise<ExecuteResult> {
  const { kind, declaredId } = input.entrypoint;
  const entrypoint = findEntrypoint(input.entrypoint);
  if (entrypoint === null) return fail("bundle_error", `The bundle declares no ${kind} "${declaredId}"`);
  const durable = new DurableRun(input);
  const code = runInside({ run: durable, step: null }, () => runCode(entrypoint, durable));
  return Promise.race([code.then((ending) => durable.finish(ending)), durable.interrupted]);
}
