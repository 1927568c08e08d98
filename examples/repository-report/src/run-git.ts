import { spawn } from "node:child_process";
import { once } from "node:events";
import { NonRetryableError } from "@keelson/sdk";
import { WORKER_FOLDER } from "./worker-folder.ts";

/** git ended with an error; the message is its own first line. */
export class GitError extends Error {
  override readonly name = "GitError";
  readonly exitCode: number | null;

  constructor(message: string, exitCode: number | null) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * A repository brings configuration of its own, and some of it names programs. Nothing of it is run: no hooks, no
 * file-system monitor, no pager, no external diff, no signature check, no fetch of missing objects. The folder that
 * the worker was started in is trusted whoever owns it, because its code is what runs here.
 */
const FIXED = [
  ...["--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"],
  ...["-c", "log.showSignature=false", "-c", `safe.directory=${WORKER_FOLDER}`],
];
const ENVIRONMENT = {
  PATH: process.env["PATH"] ?? "",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
};
const ERROR_CHARACTERS = 2_000;

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/**
 * The NUL-separated records that a git command writes, as they arrive: a history of any length is never held whole.
 *
 * Throws a GitError when git refuses, and a NonRetryableError when there is no git.
 */
export async function* readRecords(
  folder: string,
  args: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<string> {
  signal.throwIfAborted();
  const child = spawn("git", [...FIXED, "-C", folder, ...args], {
    env: ENVIRONMENT,
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  // Waited for at the end; a failure until then is no unhandled one.
  const closed = once(child, "close") as Promise<[number | null]>;
  closed.catch(() => undefined);
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, ERROR_CHARACTERS);
  });
  try {
    let rest = "";
    for await (const text of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
      const records = (rest + text).split("\0");
      rest = records.pop() ?? "";
      yield* records;
    }
    const [exitCode] = await closed;
    if (exitCode !== 0) throw new GitError(firstLine(complaint) || `git ended with ${exitCode}`, exitCode);
    if (rest !== "") yield rest;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new NonRetryableError(
      "git is not installed on the worker's machine, or not on its PATH: install git and start the run again",
      { cause: error },
    );
  } finally {
    // When the reader stops early.
    if (child.exitCode === null) child.kill();
  }
}

/** All that a git command writes. */
export async function readOutput(
  folder: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const parts: string[] = [];
  for await (const record of readRecords(folder, args, signal)) parts.push(record);
  return parts.join("\0");
}

const firstLine = (text: string): string => (text.split("\n")[0] ?? "").replace(/^(fatal|error): /, "");
