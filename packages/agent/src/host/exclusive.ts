import type { BundleModule } from "@keelson/contract";
import type { AgentPipe } from "./agent-pipe.ts";
import { watchResources } from "./left-resources.ts";
import { describeThrown } from "./load-bundle.ts";
import { leavesCode } from "./leaves-code.ts";
import { mkdirSync, writeSync } from "./node-fs.ts";
import { runAttempt, type GivenAttempt } from "./run-attempt.ts";
import { createWaitingAttempts } from "./waiting-attempts.ts";

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

/** Writes all of it; false when the descriptor was closed. */
function writeWhole(fd: number, bytes: Buffer): boolean {
  try {
    for (let offset = 0; offset < bytes.length;) offset += writeSync(fd, bytes, offset);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs one attempt at a time in this process, and those behind it as it comes to them.
 *
 * @param marker ends what an attempt wrote, in both outputs.
 */
export function createExclusiveRunner(bundle: BundleModule, pipe: AgentPipe, marker: Buffer) {
  let current: number | null = null;
  const home = process.cwd();
  const hasWork = watchResources();
  const waiting = createWaitingAttempts();
  let isScheduled = false;
  /** What a run wrote can be told from what the next one writes, and nothing of it is left. */
  let goesOn = true;

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

  const attempt = async (given: GivenAttempt): Promise<void> => {
    const { n } = given;
    current = n;
    const log = (stream: "stdout" | "stderr", text: string) => void process[stream].write(text);
    const ending = await runAttempt(bundle, { ...given, log }, pipe);
    // Its output is in the pipes before its end is, so that the agent finds all of it there.
    await drained(process.stdout);
    await drained(process.stderr);
    const result =
      ending.outcome === "suspended" && !hasWork() ? { ...ending, codeLeft: false as const } : ending;
    goesOn &&= !leavesCode(result) && writeWhole(1, marker) && writeWhole(2, marker);
    current = null;
    pipe.sendNow(["end", n, result, goesOn]);
    // Whatever the run did to it, the next one begins where this one did.
    goHome(home);
    beginSoon();
  };

  /**
   * An error that a run left to the end of its turn comes before the next one begins. That is drawn behind the end of the one
   * before: a process that dies has ended whatever it had drawn, but the last.
   */
  const beginSoon = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (current !== null || !goesOn) return;
      const dropped = waiting.beginNext();
      if (dropped.length > 0) pipe.sendNow(["dropped", dropped]);
    });
  };

  return async (given: GivenAttempt, when: "now" | "next"): Promise<void> => {
    if (when === "now") {
      waiting.drop();
      return attempt(given);
    }
    const begins = waiting.add(given);
    if (current === null) beginSoon();
    if (await begins) await attempt(given);
  };
}
