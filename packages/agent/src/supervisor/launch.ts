import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { ProcessStream } from "@keelson/contract";
import type { SandboxedCommand } from "../sandboxes/sandbox-command.ts";

/** A program that was started, as an exec or in a terminal. */
export type Launched = {
  pid: number;
  input: Writable;
  outputs: { stream: ProcessStream; readable: Readable }[];
  /** The program is gone; its output may still hold last words. */
  exited: Promise<{ exitCode: number | null; signal: string | null }>;
  /** Null for an exec. */
  resize: ((cols: number, rows: number) => void) | null;
};

/** Starts a program with three pipes, in a session of its own. Rejects with why it could not be started. */
export async function launchExec(command: SandboxedCommand): Promise<Launched> {
  const files: number[] = [];
  try {
    // Opened for each: what reads them moves the position of all that share it.
    for (const path of command.files) files.push(openSync(path, "r"));
    const child = spawn(command.file, command.args, {
      cwd: command.cwd,
      env: command.env,
      stdio: ["pipe", "pipe", "pipe", ...files],
      detached: true,
      // Without any group but its own, too.
      ...(command.uid === null ? {} : { uid: command.uid, gid: command.uid }),
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => reject(new Error(describeSpawnError(command.file, cause), { cause })));
    });
    // A signal that could not be sent is also an `error`.
    child.on("error", () => undefined);
    return {
      pid: child.pid as number,
      input: child.stdin as Writable,
      outputs: [
        { stream: "stdout", readable: child.stdout as Readable },
        { stream: "stderr", readable: child.stderr as Readable },
      ],
      exited: new Promise((resolve) =>
        child.once("exit", (exitCode, signal) => resolve({ exitCode, signal })),
      ),
      resize: null,
    };
  } finally {
    for (const file of files) closeSync(file);
  }
}

function describeSpawnError(file: string, cause: Error): string {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT") return `"${file}" could not be started: no such program`;
  if (code === "EACCES") return `"${file}" could not be started: permission denied`;
  return `"${file}" could not be started: ${cause.message}`;
}
