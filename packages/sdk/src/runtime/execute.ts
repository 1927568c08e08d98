import type { ExecuteInput, ExecuteResult } from "@keelson/contract/plain";
import type { RunContext } from "../context.ts";
import { checkPayload } from "../payload-schema.ts";
import { registry } from "../registry.ts";
import type { AnyTask } from "../task.ts";
import { fail, failureOf } from "./failure.ts";
import { createLogger } from "./logger.ts";
import { encodeOutput } from "./output.ts";
import { createMetadata } from "./run-metadata.ts";

function createContext(input: ExecuteInput): RunContext {
  const { run, host, signal } = input;
  return {
    run: {
      id: run.id,
      task: run.task,
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
    },
    attempt: { number: run.attempt_number, max: run.max_attempts },
    signal,
    logger: createLogger(host),
    metadata: createMetadata(run.metadata, host),
  };
}

/** The ending that an abort has already decided, whatever the code made of it. */
function endingOfAbort(signal: AbortSignal): ExecuteResult {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === "TimeoutError")
    return fail("timed_out", reason.message, { retryable: true });
  return { outcome: "cancelled" };
}

async function runTask(task: AnyTask, input: ExecuteInput): Promise<ExecuteResult> {
  const { signal } = input;
  let value: unknown;
  try {
    let payload: unknown = input.run.payload;
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
    value = await task.run(payload as never, createContext(input));
  } catch (thrown) {
    return signal.aborted ? endingOfAbort(signal) : failureOf(thrown);
  }
  if (signal.aborted) return endingOfAbort(signal);
  const output = encodeOutput(task.id, value);
  return "text" in output ? { outcome: "succeeded", output: output.text } : output;
}

/** Runs one attempt of a declared task. Never rejects: every ending is a result. */
export async function execute(input: ExecuteInput): Promise<ExecuteResult> {
  const { kind, declaredId } = input.entrypoint;
  const task = kind === "task" ? registry().tasks.get(declaredId) : undefined;
  if (task === undefined) return fail("bundle_error", `The bundle declares no ${kind} "${declaredId}"`);
  return runTask(task, input);
}
