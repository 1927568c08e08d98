import { spawn, type ChildProcess } from "node:child_process";
import type { Environment } from "../config.ts";
import { isExiting } from "../exit.ts";

export type KeptAgent = {
  /** Drains it and waits until it has gone. */
  stop(): Promise<void>;
};

const RESTART_BACKOFF_MS = [200, 1_000, 2_000, 5_000, 10_000];
/** How long an agent may live on that has said that it ends. */
const EXIT_MS = 2_000;
/** An agent that lived this long had started well. */
const SETTLED_MS = 30_000;

/**
 * Runs `keelson agent` in a process of its own and starts it again when it dies. It is in a group of its own, so
 * that Ctrl-C reaches it through us, in order; the channel tells it when we are gone without a word. It may have heard the
 * same signal as we: told again, it goes on with its drain.
 */
export function keepAgent(
  command: readonly string[],
  env: Environment,
  notice: (text: string) => void,
): KeptAgent {
  let stopping = false;
  let deaths = 0;
  let child: ChildProcess | null = null;
  let restart: NodeJS.Timeout | undefined;
  let gone: () => void = () => undefined;

  function start(): void {
    const begun = performance.now();
    const [program, ...args] = command;
    const started = spawn(program as string, args, {
      env: { ...env },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      detached: true,
    });
    child = started;
    let ended = false;
    const onEnd = (why: string): void => {
      if (ended) return;
      ended = true;
      child = null;
      gone();
      if (stopping) return;
      deaths = performance.now() - begun > SETTLED_MS ? 1 : deaths + 1;
      const delayMs = RESTART_BACKOFF_MS[Math.min(deaths, RESTART_BACKOFF_MS.length) - 1] as number;
      notice(`The agent ended (${why}); starting it again in ${delayMs} ms`);
      restart = setTimeout(start, delayMs);
    };
    started.on("message", (message) => {
      if (isExiting(message)) setTimeout(() => started.kill("SIGKILL"), EXIT_MS).unref();
    });
    started.on("error", (error) => onEnd(error.message));
    started.on("exit", (code, signal) => onEnd(signal ?? `exit code ${code}`));
  }

  start();
  return {
    async stop() {
      stopping = true;
      clearTimeout(restart);
      const running = child;
      if (running === null) return;
      const ended = new Promise<void>((resolve) => {
        gone = resolve;
      });
      running.kill("SIGTERM");
      await ended;
    },
  };
}
