// Processes of the product that a crash test kills and starts again. None of them outlives the test process.

import { spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import type { Readable } from "node:stream";
import { letPass, patience } from "../../support/until.ts";
import { bareEnvironment } from "../../support/bare-environment.ts";
import { programArguments } from "../../support/programs.ts";

const KEPT_OUTPUT = 20_000;
/** For a test that looks into all of it. */
export const ALL_OUTPUT = 100_000_000;

export interface SpawnOptions {
  /** Shown in what the test prints. */
  readonly name: string;
  /** Below `packages/`. */
  readonly main: string;
  readonly env: Record<string, string>;
  /** What the process says when it is of use. */
  readonly readyWhen: RegExp;
  /** How much of its output is kept, in characters. */
  readonly keptOutput?: number;
  /** As whom it runs, with that group too. Default: as the test. */
  readonly uid?: number;
}

export interface SpawnedProcess {
  readonly name: string;
  /** Of the present life; 0 while it is down. */
  readonly pid: number;
  /** How often it was started. */
  readonly lives: number;
  /**
   * Starts it, and again if it ends before it is ready: it may need another process that is down too, or be killed once
   * more. A call while it is being started waits for that.
   */
  start(): Promise<void>;
  /** Ends it at once and resolves when it is gone. */
  kill(): Promise<void>;
  /** Ends it for good: whoever is starting it again gives up. */
  end(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves at the end of the present life. */
  ended(): Promise<void>;
  output(): string;
}

const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

function spawnMain({ main, env, uid }: SpawnOptions): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, programArguments(main), {
    env: { ...bareEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

export function describeProcess(options: SpawnOptions): SpawnedProcess {
  let child: ChildProcess | null = null;
  let exited: Promise<void> = Promise.resolve();
  let lives = 0;
  let said = "";
  const over = new AbortController();
  let starting: Promise<void> | null = null;

  const startOnce = (): Promise<boolean> => {
    const own = spawnMain(options);
    child = own;
    living.add(own);
    let heard = "";
    let ready: (is: boolean) => void;
    const isReady = new Promise<boolean>((resolve) => (ready = resolve));
    const hear = (bytes: Buffer): void => {
      said = (said + bytes.toString()).slice(-(options.keptOutput ?? KEPT_OUTPUT));
      heard = (heard + bytes.toString()).slice(-KEPT_OUTPUT);
      if (options.readyWhen.test(heard)) ready(true);
    };
    own.stdout.on("data", hear);
    own.stderr.on("data", hear);
    exited = new Promise((resolve) => {
      const end = (error?: Error): void => {
        if (error !== undefined) said = `${error.message}\n`;
        living.delete(own);
        if (child === own) child = null;
        ready(false);
        resolve();
      };
      own.on("exit", () => end());
      own.on("error", end);
    });
    return isReady;
  };

  const start = async (): Promise<void> => {
    const deadline = performance.now() + patience();
    lives += 1;
    while (!over.signal.aborted && !(await startOnce())) {
      if (performance.now() > deadline) throw new Error(`${options.name} did not start:\n${said}`);
      await letPass(100, "what it needs may be down for a moment");
    }
  };

  const end = async (): Promise<void> => {
    child?.kill("SIGKILL");
    await exited;
  };

  return {
    name: options.name,
    get pid() {
      return child?.pid ?? 0;
    },
    get lives() {
      return lives;
    },
    start: () => (starting ??= start().finally(() => (starting = null))),
    kill: end,
    end: () => {
      over.abort();
      return end();
    },
    signal: (signal) => void child?.kill(signal),
    ended: () => exited,
    output: () => said,
  };
}
