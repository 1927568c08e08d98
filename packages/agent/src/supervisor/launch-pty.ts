import { createRequire } from "node:module";
import { constants } from "node:os";
import { ReadStream } from "node:tty";
import { spawnExpendable } from "../limits/spawn-expendable.ts";
import type { SandboxedCommand } from "../sandboxes/sandbox-command.ts";
import type { Launched } from "./launch.ts";

/**
 * The native half of node-pty. Its own JavaScript cuts the output off 200 ms after the program is gone, read or not, which
 * would lose the end of what a slow reader is paced by.
 */
type NativePty = {
  fork(
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helperPath: string,
    onExit: (exitCode: number, signal: number) => void,
  ): { fd: number; pid: number };
  resize(fd: number, cols: number, rows: number): void;
};

let native: NativePty | null = null;

/** @throws Error that says what is missing: there are no terminals on this machine then, and all else works. */
function loadNative(): NativePty {
  if (native !== null) return native;
  try {
    const require = createRequire(import.meta.url);
    const { requireBinary } = require("@lydell/node-pty/requireBinary.js") as {
      requireBinary(file: string): NativePty;
    };
    native = requireBinary("pty.node");
    return native;
  } catch (cause) {
    throw new Error(
      `This worker has no terminals: @lydell/node-pty cannot be loaded on ${process.platform}-${process.arch}. Install it with its optional packages.`,
      { cause },
    );
  }
}

const IGNORE_INTERRUPTS = 'trap "" INT QUIT; ';
/** Opens the files as descriptors from 3 on, as a child process has them that is not started in a terminal. */
const WITH_FILES = 'exec 3<"$1" 4<"$2" 5<"$3" 6<"$4"; shift 4; exec "$@"';

/** Starts a program in a terminal of its own. */
export function launchPty(command: SandboxedCommand, cols: number, rows: number): Launched {
  const pty = loadNative();
  const [file, args] =
    command.files.length === 0
      ? [command.file, command.args]
      : [
          "/bin/sh",
          [
            "-c",
            (command.ignoresInterrupts ? IGNORE_INTERRUPTS : "") + WITH_FILES,
            "sh",
            ...command.files,
            command.file,
            ...command.args,
          ],
        ];
  const env = Object.entries(command.env).map(([name, value]) => `${name}=${value}`);
  const ended = Promise.withResolvers<{ exitCode: number | null; signal: string | null }>();
  const onExit = (exitCode: number, signal: number): void =>
    ended.resolve(signal === 0 ? { exitCode, signal: null } : { exitCode: null, signal: signalName(signal) });
  const { fd, pid } = spawnExpendable(() =>
    pty.fork(file, args, env, command.cwd, cols, rows, -1, -1, false, "", onExit),
  );
  const terminal = new ReadStream(fd);
  return {
    pid,
    input: terminal,
    outputs: [{ stream: "output", readable: terminal }],
    exited: ended.promise,
    gate: null,
    resize: (width, height) => {
      if (!terminal.destroyed) pty.resize(fd, width, height);
    },
  };
}

const signalName = (number: number): string =>
  Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
