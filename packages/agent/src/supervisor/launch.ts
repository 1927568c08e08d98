import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { ProcessStream } from "@keelson/contract";
import { spawnExpendable } from "../limits/spawn-expendable.ts";
import { SANDBOX_FILES } from "../sandboxes/bubblewrap-arguments.ts";
import type { SandboxedCommand } from "../sandboxes/sandbox-command.ts";

/** A program that was started, as an exec or in a terminal. */
export type Launched = {
  pid: number;
  input: Writable;
  outputs: { stream: ProcessStream; readable: Readable }[];
  /** The program is gone; its output may still hold last words. */
  exited: Promise<{ exitCode: number | null; signal: string | null }>;
  /** What the program waits for before it begins; null when it runs already. */
  gate: { open(): void; close(): void } | null;
  /** Null for an exec. */
  resize: ((cols: number, rows: number) => void) | null;
};

/**
 * Starts a program with three pipes, in a session of its own. Rejects with why it could not be started. Where bubblewrap
 * starts it, the program does not begin before it is told to: bubblewrap reads the filter of system calls when all else
 * is set up, and here it is given that then. When it is never, or who would give it dies, bubblewrap reads an empty one,
 * which the kernel refuses, and ends without having run the program.
 */
export async function launchExec(command: SandboxedCommand): Promise<Launched> {
  const { child, gate } = await spawnExec(command);
  return toLaunched(child, gate);
}

/** @param more what the program is given as descriptors after those of `command`. */
export async function spawnExec(
  command: SandboxedCommand,
  more: readonly (number | "pipe")[] = [],
): Promise<{ child: ChildProcess; gate: Launched["gate"] }> {
  const [filterFile, ...others] = command.files;
  const files: number[] = [];
  try {
    const filter = filterFile === undefined ? null : readFileSync(filterFile);
    // Opened for each: what reads them moves the position of all that share it.
    for (const path of others) files.push(openSync(path, "r"));
    const child = spawnExpendable(() =>
      spawn(command.file, command.args, {
        cwd: command.cwd,
        env: command.env,
        stdio: ["pipe", "pipe", "pipe", ...(filter === null ? [] : ["pipe" as const]), ...files, ...more],
        detached: true,
        // Without any group but its own, too.
        ...(command.uid === null ? {} : { uid: command.uid, gid: command.uid }),
      }),
    );
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => reject(new Error(describeSpawnError(command.file, cause), { cause })));
    });
    // A signal that could not be sent is also an `error`.
    child.on("error", () => undefined);
    const gate = filter === null ? null : toGate(child.stdio[SANDBOX_FILES.seccomp] as Writable, filter);
    return { child, gate };
  } finally {
    for (const file of files) closeSync(file);
  }
}

export const toLaunched = (child: ChildProcess, gate: Launched["gate"]): Launched => ({
  ...{ pid: child.pid as number, gate, input: child.stdin as Writable, resize: null },
  outputs: [
    { stream: "stdout", readable: child.stdout as Readable },
    { stream: "stderr", readable: child.stderr as Readable },
  ],
  exited: new Promise((resolve) => child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }))),
});

function toGate(pipe: Writable, filter: Buffer): Launched["gate"] {
  // What ends before it begins says so by its end.
  pipe.on("error", () => undefined);
  return {
    open: () => void pipe.end(filter, () => pipe.destroy()),
    close: () => void pipe.destroy(),
  };
}

/** The kernel gave it no process: its user, or the machine, has as many as it may have. */
export const isOutOfProcesses = ({ cause }: { cause?: unknown }): boolean =>
  (cause as NodeJS.ErrnoException | undefined)?.code === "EAGAIN";

function describeSpawnError(file: string, cause: Error): string {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT") return `"${file}" could not be started: no such program`;
  if (code === "EACCES") return `"${file}" could not be started: permission denied`;
  if (code === "EAGAIN") return `"${file}" could not be started: no process was left for it; run it again`;
  return `"${file}" could not be started: ${cause.message}`;
}
