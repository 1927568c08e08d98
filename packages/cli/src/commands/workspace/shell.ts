import type { PtyHandle } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError, usageError } from "../../exit-codes.ts";
import { MAX_RECONNECTS, runTerminal, sizeOf } from "../../terminal/run-terminal.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";
import { collectVariable } from "./exec.ts";

type Options = WorkspaceFlags & { cwd?: string; env?: Record<string, string> };

const HELP = `
All keys go to the program, Ctrl-C too. Leave with ~. at the start of a line (~~ there is one ~): the program is hung up
then, as when it is interrupted by SIGTERM. A connection that is lost comes back on its own. The exit code is the
program's; 0 when you left.

Examples:
  $ keelson workspace shell ws_01k…
  $ keelson workspace shell ws_01k… --cwd src -- vim main.ts
`;
const HANG_UP_MS = 5_000;

/**
 * A person who leaves is not kept waiting by a server that does not answer, and why the terminal was left stays what the
 * command says in the end.
 */
async function hangUp(cli: Cli, pty: PtyHandle): Promise<void> {
  try {
    await pty.close({ signal: AbortSignal.timeout(HANG_UP_MS) });
    cli.notice(`\nLeft ${pty.id}.`);
  } catch (error) {
    cli.notice(`\nLeft ${pty.id}, which may still be running: ${(error as Error).message}`);
  }
}

async function openShell(cli: Cli, id: string, command: string[], flags: Options): Promise<void> {
  const { stdin, stdout, signal, env } = cli.host;
  if (!stdin.isTTY || !stdout.isTTY)
    throw usageError(
      "A shell needs a terminal on standard input and output; `keelson workspace exec` needs none",
    );
  const workspace = await openWorkspace(cli, id, flags, { maxRetries: MAX_RECONNECTS });
  const pty = await workspace.pty({
    signal,
    ...sizeOf(stdout),
    env: { TERM: env["TERM"] || "xterm-256color", ...flags.env },
    ...(command.length > 0 && { command }),
    ...(flags.cwd !== undefined && { cwd: flags.cwd }),
  });
  cli.notice(`Opened ${pty.id}. Leave with ~. at the start of a line.`);
  try {
    if ((await runTerminal(cli, workspace, pty)) === "left") {
      await hangUp(cli, pty);
      return;
    }
  } catch (error) {
    await hangUp(cli, pty);
    throw error;
  }
  const ended = await pty.get({ signal });
  if (cli.isJson()) cli.printJson(ended);
  const { status, exitCode: code, error } = ended;
  if (status === "lost" || error !== null)
    throw new ExitError(EXIT.runFailed, `${pty.id} ${status}${error === null ? "" : `: ${error.message}`}`);
  if (code !== null && code !== 0) throw new ExitError(code);
}

export function addWorkspaceShell(parent: Command, cli: Cli): void {
  addWorkspaceArgument(parent.command("shell").description("Open a terminal in a workspace"))
    .argument("[command...]", "a program and its arguments, after --, instead of the login shell")
    .option("--cwd <path>", "a folder of the workspace")
    .option("-e, --env <name=value>", "an environment variable (repeatable)", collectVariable)
    .addHelpText("after", HELP)
    .action((id: string, command: string[], options: Options) => openShell(cli, id, command, options));
}
