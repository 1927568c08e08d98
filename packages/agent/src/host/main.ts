/**
 * A task host: a process that loads one bundle and runs its attempts as the agent says. It ends with its agent.
 * Nothing but Node's own modules is loaded here besides the bundle, to keep the start short.
 */
import { TransientMap } from "@keelson/contract/transient-map";
import { openAgentPipe } from "./agent-pipe.ts";
import { createExclusiveRunner, makeOutputSynchronous } from "./exclusive.ts";
import { openDurablePort, type DurablePort } from "./durable-port.ts";
import { isAsExpected } from "./expected-folders.ts";
import type { ExpectedFolder, RunInput, ToHost } from "./frames.ts";
import { describeThrown, loadBundle } from "./load-bundle.ts";
import { mapStacks } from "./map-stacks.ts";
import { stopReason, type GivenAttempt } from "./run-attempt.ts";
import { createSharedRunner } from "./shared.ts";

/** Resolves when the attempt has ended, or will not be begun here. */
type Runner = (attempt: GivenAttempt, when: "now" | "next") => Promise<void>;

const attempts = new TransientMap<number, { stop: AbortController; port: DurablePort }>();
let runner: Runner | null = null;

/** The agent is gone: nothing of this process group may outlive it. Zero means the own group. */
const endGroup = (): void => {
  process.kill(0, "SIGKILL");
};

mapStacks();
const pipe = openAgentPipe(receive, endGroup);
// What its agent is told to end with is for the agent, which lets runs finish.
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const) process.on(signal, () => undefined);

function receive(message: ToHost): void {
  switch (message[0]) {
    case "boot":
      pipe.sendNow(["up"]);
      if (message[1].folders === null || isFit(message[1].folders)) void boot(message[1]);
      return;
    case "run":
      start(message[1], message[2], "now");
      return;
    case "next":
      start(message[1], message[2], "next");
      return;
    case "stop":
      attempts.get(message[1])?.stop.abort(stopReason(message[2]));
      return;
    case "answer":
      attempts.get(message[1])?.port.answer(message[2], message[3]);
      return;
    case "interrupt":
      attempts.get(message[1])?.port.interrupted(message[2]);
      return;
    case "settled":
      attempts.get(message[1])?.port.settled(message[2]);
      return;
    case "suspend":
      // The answer that it is parked may have come together with this: the run hears that first.
      setImmediate(() => suspend(message[1]));
      return;
    case "ping":
      pipe.send(["pong"]);
      return;
    case "exit":
      process.exit(0);
  }
}

function suspend(n: number): void {
  if (!attempts.get(n)?.port.suspend()) pipe.send(["awake", n]);
}

/** Of a host in a sandbox, before anything of the bundle runs: later code could say the same of itself. */
function isFit(folders: readonly ExpectedFolder[]): boolean {
  process.on("exit", (code) => {
    pipe.sendNow(["exiting", code]);
  });
  const changed = folders.find((folder) => !isAsExpected(folder));
  if (changed !== undefined)
    pipe.sendNow(["unfit", `The folder ${changed.path} was replaced while the task's sandbox was set up.`]);
  return changed === undefined;
}

async function boot({ path, mode, marker }: Extract<ToHost, ["boot", unknown]>[1]): Promise<void> {
  makeOutputSynchronous();
  try {
    const { module, entrypoints } = await loadBundle(path);
    runner =
      mode === "exclusive"
        ? createExclusiveRunner(module, pipe, Buffer.from(marker))
        : createSharedRunner(module, pipe);
    pipe.sendNow(["ready", entrypoints]);
  } catch (error) {
    pipe.sendNow(["boot_failed", describeThrown(error)]);
  }
}

function start(n: number, input: RunInput, when: "now" | "next"): void {
  const stop = new AbortController();
  const port = openDurablePort(n, pipe);
  attempts.set(n, { stop, port });
  void runner?.({ n, input, signal: stop.signal, port }, when).then(() => attempts.delete(n));
}
