import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseMillisecondsOption } from "../../parse-arguments.ts";
import {
  addWorkspaceArgument,
  openWorkspace,
  reportWorkspace,
  type WorkspaceFlags,
} from "../../workspace-argument.ts";

type Options = WorkspaceFlags & { timeout?: number };

export function addWorkspaceStop(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent
      .command("stop")
      .description("Stop a workspace: end its commands, commit its changes and release its worker"),
  )
    .option("--timeout <duration>", "wait this long at most (default 2m)", parseMillisecondsOption)
    .addHelpText("after", "\nExample:\n  $ keelson workspace stop ws_01k…\n")
    .action(async (id: string, { timeout, ...flags }: Options) => {
      const workspace = await openWorkspace(cli, id, flags);
      const options = { signal: cli.host.signal, ...(timeout !== undefined && { timeout }) };
      reportWorkspace(cli, await workspace.stop(options));
    });
}
