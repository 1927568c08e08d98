import type { BundleModule, ExecuteResult, LogStream, RuntimeHost } from "@keelson/contract";
import type { AgentPipe } from "./agent-pipe.ts";
import type { DurablePort } from "./durable-port.ts";
import type { RunInput, StopCause } from "./frames.ts";
import { describeThrown } from "./load-bundle.ts";

const STOP_MESSAGES: Record<StopCause, { name: string; message: string }> = {
  cancelled: { name: "CancelledError", message: "The run was cancelled." },
  timed_out: { name: "TimeoutError", message: "The run was timed out: its max_duration is over." },
  stopped: { name: "StoppedError", message: "The worker stops this execution." },
};

/** The reason that a run's `signal` is aborted with. */
export function stopReason(cause: StopCause): Error {
  const { name, message } = STOP_MESSAGES[cause];
  const error = new Error(message);
  error.name = name;
  return error;
}

/** An attempt as the agent has given it to this process. */
export type GivenAttempt = {
  n: number;
  input: RunInput;
  signal: AbortSignal;
  port: DurablePort;
};

export type Attempt = GivenAttempt & {
  log(stream: LogStream, text: string): void;
};

/** Runs one attempt in the bundle. A bundle that breaks its promise and rejects fails the run all the same. */
export async function runAttempt(
  bundle: BundleModule,
  attempt: Attempt,
  pipe: AgentPipe,
): Promise<ExecuteResult> {
  const { n, input, signal, port } = attempt;
  const host: RuntimeHost = {
    log: (stream, text) => attempt.log(stream, text),
    event: (event) => pipe.send(["event", n, event]),
    metadata: (changes) => pipe.send(["metadata", n, changes]),
    ...port.host,
  };
  try {
    return await bundle.execute({ ...input, signal, host });
  } catch (error) {
    return {
      outcome: "failed",
      failure: { kind: "application_error", ...describeThrown(error), retryable: true },
    };
  }
}
