import { constants } from "node:os";
import { addAbortSignal } from "node:stream";
import { ConflictError, type Exec, type ExecHandle, type ProcessOutput } from "@keelson/sdk";
import { ON_LOST, type Duration, type OnLost } from "@keelson/contract/plain";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import { noticeWaiting } from "../../notice-waiting.ts";
import { parseDurationOption } from "../../parse-arguments.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";
import { writeBytes } from "../../write-bytes.ts";

type Options = WorkspaceFlags & {
  cwd?: string;
  env?: Record<string, string>;
  timeout?: Duration;
  stdin: boolean;
  onLost?: OnLost;
};

const HELP = `
Standard input goes to the program, its stdout and stderr come here; Ctrl-C and SIGTERM reach the program, a second
one leaves it running. The exit code is the program's: 128 + n when signal n ended it, 124 when --timeout did, and 7
when it did not run to an end of its own. The server keeps the last 8 MiB of each output: where the program writes more
than is read here, the exit code is 1.

Examples:
  $ keelson workspace exec ws_01k… -- npm test
  $ keelson workspace exec ws_01k… -- sh -c 'grep -r TODO src | wc -l'
  $ keelson workspace exec ws_01k… -- sha256sum < large.bin
`;

export function collectVariable(
  text: string,
  before: Record<string, string> | undefined,
): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be NAME=value.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

type StreamName = "stdout" | "stderr";

/** @returns whether all of it came. */
async function copyOutput(
  cli: Cli,
  stream: StreamName,
  output: ProcessOutput,
  signal: AbortSignal,
): Promise<boolean> {
  let isWhole = true;
  const onGap = (): void => {
    if (isWhole) cli.notice(`(older ${stream} is no longer kept)`);
    isWhole = false;
  };
  for await (const { offset, bytes, at } of output.chunks({ signal, onGap })) {
    if (!cli.isJson()) await writeBytes(cli.host[stream], bytes);
    else cli.printJson({ stream, offset, data: Buffer.from(bytes).toString("base64"), at });
  }
  return isWhole;
}

/** Passes standard input on until it ends or nobody reads it any more. */
async function copyInput(cli: Cli, exec: ExecHandle, signal: AbortSignal): Promise<void> {
  try {
    for await (const part of addAbortSignal(signal, cli.host.stdin))
      await exec.write(part as Uint8Array | string, { signal });
    await exec.closeStdin({ signal });
  } catch (error) {
    const isOver = error instanceof ConflictError && error.code === "invalid_state";
    if (!signal.aborted && !isOver) throw error;
  }
}

/** The program is told of Ctrl-C and SIGTERM, and says itself what becomes of it. */
function passInterruption(cli: Cli, exec: ExecHandle, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const pass = async (): Promise<void> => {
      const name = (cli.host.signal.reason as Error).cause as "SIGINT" | "SIGTERM" | "SIGHUP";
      cli.notice(`(${name} sent to the program; once more leaves it running as ${exec.id})`);
      await exec.signal(name, { signal });
    };
    const onAbort = (): void =>
      void pass().catch((error: Error) => {
        if (!signal.aborted) reject(error);
      });
    if (cli.host.signal.aborted) onAbort();
    else cli.host.signal.addEventListener("abort", onAbort, { once: true, signal });
  });
}

/** @param lacking outputs of which a part did not come: what was piped from here is not what the program wrote. */
function leave(cli: Cli, exec: Exec, lacking: readonly StreamName[]): void {
  const { status, exitCode: code, signal, timedOut: isTimedOut, error } = exec;
  if (cli.isJson()) cli.printJson(exec);
  if (status !== "exited")
    throw new ExitError(EXIT.runFailed, `${exec.id} ${status}${error === null ? "" : `: ${error.message}`}`);
  if (isTimedOut) throw new ExitError(EXIT.timeout, `${exec.id} was killed after ${exec.timeout}`);
  const exitCode = code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
  if (exitCode !== 0) throw new ExitError(exitCode);
  if (lacking.length > 0)
    throw new ExitError(
      EXIT.failure,
      `Part of ${lacking.join(" and ")} is missing: the server keeps the last 8 MiB of an output, and it was read here more slowly than it was written. ` +
        "Let the command write a file, and fetch that with `keelson workspace cat`.",
    );
}

async function execInWorkspace(cli: Cli, id: string, command: string[], flags: Options): Promise<void> {
  const { cwd, env, timeout, onLost } = flags;
  // What may run again has all of its input from the beginning.
  const stdin = flags.stdin && onLost !== "rerun";
  const workspace = await openWorkspace(cli, id, flags);
  const exec = await workspace.exec(command, {
    signal: cli.host.signal,
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
    ...(timeout !== undefined && { timeout }),
    ...(onLost !== undefined && { onLost }),
    ...(!stdin && { stdin: "" }),
  });
  const ended = new AbortController();
  const { signal } = ended;
  const lacking: StreamName[] = [];
  const copy = async (stream: StreamName): Promise<void> => {
    if (!(await copyOutput(cli, stream, exec[stream], signal))) lacking.push(stream);
  };
  try {
    const outputs = Promise.all([copy("stdout"), copy("stderr")]);
    const waiting = noticeWaiting(workspace, exec, signal, cli.notice).then(() => outputs);
    const input = stdin ? copyInput(cli, exec, signal) : Promise.resolve();
    await Promise.race([outputs, waiting, input.then(() => outputs), passInterruption(cli, exec, signal)]);
  } finally {
    ended.abort();
  }
  leave(cli, await exec.get(), lacking);
}

export function addWorkspaceExec(parent: Command, cli: Cli): void {
  addWorkspaceArgument(parent.command("exec").description("Run a command in a workspace"))
    .argument("<command...>", "the program and its arguments, after --; no shell is between")
    .option("--cwd <path>", "a folder of the workspace")
    .option("-e, --env <name=value>", "an environment variable (repeatable)", collectVariable)
    .option("--timeout <duration>", "kill the command after this time", parseDurationOption)
    .option("-n, --no-stdin", "give it no input")
    .addOption(
      new Option(
        "--on-lost <what>",
        "when its machine is lost: end as lost, or run again without input",
      ).choices([...ON_LOST]),
    )
    .showHelpAfterError(
      "Options of the program go after --, so that they are not read as options of keelson:\n  $ keelson workspace exec ws_01k… -- ls -la",
    )
    .addHelpText("after", HELP)
    .action((id: string, command: string[], options: Options) => execInWorkspace(cli, id, command, options));
}
