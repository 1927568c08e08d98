import type { BundleModule } from "@keelson/contract";
import type { AgentPipe } from "./agent-pipe.ts";
import { watchResources } from "./left-resources.ts";
import { describeThrown } from "./load-bundle.ts";
import { mkdirSync } from "./node-fs.ts";
import { runAttempt, type GivenAttempt } from "./run-attempt.ts";

type Blocking = { _handle?: { setBlocking?(on: boolean): void } | null };

/**
 * Output of an exclusive host goes straight into its pipes. Written synchronously, the last bytes before a crash or
 * `process.exit()` are not lost, and a flood is held up at its source.
 */
export function makeOutputSynchronous(): void {
  // Node makes output to a pipe asynchronous on Linux and has no public switch; the handle's method is the same one it uses on Windows.
  (process.stdout as unknown as Blocking)._handle?.setBlocking?.(true);
  (process.stderr as unknown as Blocking)._handle?.setBlocking?.(true);
}

const drained = (stream: NodeJS.WriteStream): Promise<void> =>
  stream.writableLength === 0 || stream.destroyed
    ? Promise.resolve()
    : new Promise((resolve) => stream.write("", () => resolve()));

/** Makes it the working directory, also when it was removed. */
function goHome(home: string): void {
  try {
    process.chdir(home);
  } catch {
    mkdirSync(home, { recursive: true });
    process.chdir(home);
  }
}

/** Runs one attempt at a time in this process. */
export function createExclusiveRunner(bundle: BundleModule, pipe: AgentPipe) {
  let current: number | null = null;
  const home = process.cwd();
  const hasWork = watchResources();

  const fail = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => {
    const thrown = describeThrown(error);
    if (current === null) {
      process.stderr.write(`${thrown.stack ?? thrown.message}\n`);
    } else {
      // The code of the run did not throw: without the word, nobody looks for a promise that was not awaited.
      const message =
        origin === "unhandledRejection" ? `Unhandled rejection: ${thrown.message}` : thrown.message;
      pipe.sendNow(["uncaught", current, { ...thrown, message }]);
    }
    process.exit(1);
  };
  process.on("uncaughtException", fail);

  return async (given: GivenAttempt): Promise<void> => {
    const { n } = given;
    current = n;
    const log = (stream: "stdout" | "stderr", text: string) => void process[stream].write(text);
    const ending = await runAttempt(bundle, { ...given, log }, pipe);
    // Its output is in the pipes before its end is, so that the agent finds all of it there.
    await drained(process.stdout);
    await drained(process.stderr);
    const result =
      ending.outcome === "suspended" && !hasWork() ? { ...ending, codeLeft: false as const } : ending;
    current = null;
    pipe.sendNow(["end", n, result]);
    // Whatever the run did to it, the next one begins where this one did.
    goHome(home);
  };
}
