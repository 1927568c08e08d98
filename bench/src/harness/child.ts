import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/**
 * A contestant, a load generator or a bare server in a process of its own, so that no figure contains another's
 * garbage collection. Children are ended by their process id; one that does not go on SIGTERM is killed.
 */
export type Child = {
  pid: number;
  process: ChildProcess;
  /** Sends a message and resolves with the next message that the child sends. */
  ask<T>(message: unknown, timeoutMs: number): Promise<T>;
  /** Resolves with the next message, whoever caused it. */
  next<T>(timeoutMs: number): Promise<T>;
  stop(): Promise<void>;
};

const running = new Set<Child>();

/** Ends every child that is still there; for the end of the run and for Ctrl-C. */
export async function stopAllChildren(): Promise<void> {
  await Promise.all([...running].map((child) => child.stop()));
}

/** Spawns a module of this package with a message channel. `core` pins it to one core where taskset exists. */
export function startChild(module: URL, options: { core?: number; args?: string[] } = {}): Child {
  const command = [
    process.execPath,
    "--conditions=@keelson/source",
    fileURLToPath(module),
    ...(options.args ?? []),
  ];
  if (options.core !== undefined && process.platform === "linux")
    command.unshift("taskset", "-c", String(options.core));
  const [program, ...args] = command as [string, ...string[]];
  return watchChild(spawn(program, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] }), program);
}

/** Takes a spawned process into the list of children to end. */
export function watchChild(child: ChildProcess, name: string): Child {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started`);
  const inbox: unknown[] = [];
  let waiting: { resolve: (message: unknown) => void; reject: (error: Error) => void } | undefined;
  child.on("message", (message) => {
    if (waiting === undefined) inbox.push(message);
    else waiting.resolve(message);
  });
  const gone = once(child, "exit").then(([code, signal]) => {
    running.delete(self);
    // Also when it was asked to end: whoever waits for its word waits in vain.
    waiting?.reject(
      new Error(`${name} (process ${pid}) ended before it answered: ${signal ?? `exit code ${code}`}`),
    );
  });

  const next = async <T>(timeoutMs: number): Promise<T> => {
    if (inbox.length > 0) return inbox.shift() as T;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${name} (process ${pid}) has ended`);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting = { resolve, reject };
    const timer = setTimeout(
      () => reject(new Error(`${name} did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      return (await promise) as T;
    } finally {
      clearTimeout(timer);
      waiting = undefined;
    }
  };

  const self: Child = {
    pid,
    process: child,
    next,
    ask<T>(message: unknown, timeoutMs: number) {
      child.send(message as object);
      return next<T>(timeoutMs);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await gone;
      clearTimeout(timer);
    },
  };
  running.add(self);
  return self;
}

/** The child's side: answers each message with what `handle` returns; a failure ends the process with its reason. */
export function answerMessages<I>(handle: (message: I) => Promise<unknown>): void {
  process.on("message", (message) => {
    handle(message as I).then(
      (answer) => process.send?.(answer ?? null),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  });
  process.on("disconnect", () => process.exit(0));
}
