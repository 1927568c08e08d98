/**
 * A task host: a process that loads one bundle and runs its attempts as the agent says. It ends with its agent.
 * Nothing but Node's own modules is loaded here besides the bundle, to keep the start short.
 */
import type { ExecutionMode } from "@keelson/contract";
import { openAgentPipe } from "./agent-pipe.ts";
import { createExclusiveRunner, makeOutputSynchronous } from "./exclusive.ts";
import type { RunInput, StopCause, ToHost } from "./frames.ts";
import { describeThrown, loadBundle } from "./load-bundle.ts";
import { stopReason } from "./run-attempt.ts";
import { createSharedRunner } from "./shared.ts";

type Runner = (n: number, input: RunInput, marker: string, signal: AbortSignal) => Promise<void>;

const stops = new Map<number, AbortController>();
let runner: Runner | null = null;

/** The agent is gone: nothing of this process group may outlive it. Zero means the own group. */
const endGroup = (): void => {
  process.kill(0, "SIGKILL");
};

const pipe = openAgentPipe(receive, endGroup);

function receive(message: ToHost): void {
  switch (message[0]) {
    case "boot":
      void boot(message[1].path, message[1].mode);
      return;
    case "run":
      start(message[1], message[2], message[3]);
      return;
    case "stop":
      stop(message[1], message[2]);
      return;
    case "ping":
      pipe.send(["pong"]);
      return;
    case "exit":
      process.exit(0);
  }
}

async function boot(path: string, mode: ExecutionMode): Promise<void> {
  makeOutputSynchronous();
  try {
    const { module, entrypoints } = await loadBundle(path);
    runner = mode === "exclusive" ? createExclusiveRunner(module, pipe) : createSharedRunner(module, pipe);
    pipe.send(["ready", entrypoints]);
  } catch (error) {
    pipe.send(["boot_failed", describeThrown(error)]);
  }
  pipe.flush();
}

function start(n: number, input: RunInput, marker: string): void {
  const controller = new AbortController();
  stops.set(n, controller);
  void runner?.(n, input, marker, controller.signal).then(() => stops.delete(n));
}

function stop(n: number, cause: StopCause): void {
  stops.get(n)?.abort(stopReason(cause));
}
