import type { DurableCall, RunEventAttributes, RuntimeHost } from "@keelson/contract";
import { UsageError } from "../keelson-error.ts";
import type { Harness } from "./harness.ts";
import type { KeptRun } from "./kept-run.ts";
import { performCall } from "./perform-call.ts";
import type { TestStep } from "./run-view.ts";

type HostEvent = Parameters<RuntimeHost["event"]>[0];

const NO_WORKSPACE =
  "A test in process has no workspaces. Move what the code does with the workspace into a function, and replace that in the test; or test it on a server.";

/** What a step has come to; null of a try that another one follows. */
function toStep({ kind, attributes }: HostEvent, run: KeptRun): TestStep | null {
  const { attempt } = run;
  if (kind === "step.completed") {
    const { step: name, position, try: tries } = attributes as RunEventAttributes["step.completed"];
    const entry = run.journal.find((one) => one.position === position);
    return { name, status: "succeeded", tries, attempt, output: entry?.value ?? null, error: null };
  }
  const { step: name, try: tries, retry_after_ms } = attributes as RunEventAttributes["step.failed"];
  if (retry_after_ms !== null) return null;
  return { name, status: "failed", tries, attempt, output: null, error: null };
}

/** What a run asks of its host, for one attempt. It hears nothing of the next one. */
export function openHost(harness: Harness, run: KeptRun): RuntimeHost {
  const { attempt } = run;
  const isOver = (): boolean => run.attempt !== attempt || run.ending !== null;
  const call = (made: DurableCall): Promise<unknown> => {
    if (isOver()) return new Promise(() => undefined);
    // What is sent is what it was when the call was made, as on a wire.
    const sent = JSON.parse(JSON.stringify(made)) as DurableCall;
    return new Promise((resolve, reject) => {
      try {
        const result = structuredClone(performCall(harness, run, sent));
        setImmediate(() => resolve(result));
      } catch (error) {
        setImmediate(() => reject(error as Error));
      }
      harness.touch();
    });
  };
  return {
    log: (_stream, text) => {
      if (!isOver()) run.logs.push(text.replace(/\n$/, ""));
    },
    event: (event) => {
      const step = isOver() ? null : toStep(event, run);
      if (step === null) return;
      const failed = step.status === "failed";
      run.steps.push(
        failed ? { ...step, error: { message: event.message.replace(/^Step ".*?" failed: /s, "") } } : step,
      );
    },
    metadata: (changes) => {
      if (!isOver()) run.changeMetadata(changes);
    },
    call: call as RuntimeHost["call"],
    onSettled: (settled) => run.listen({ settled }),
    onInterrupt: (interrupted) => run.listen({ interrupted }),
    execResult: () => Promise.reject(new UsageError(NO_WORKSPACE)),
    file: () => Promise.reject(new UsageError(NO_WORKSPACE)),
    // Nothing is suspended here: whether the code can be, its replay at the end shows.
    onSuspend: () => undefined,
  };
}
