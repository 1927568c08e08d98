import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import {
  addWorkspaceArgument,
  openWorkspace,
  reportWorkspace,
  type WorkspaceFlags,
} from "../../workspace-argument.ts";

export function addWorkspaceDelete(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent.command("delete").description("Delete a workspace with all its versions; forks keep their files"),
  )
    .addHelpText("after", "\nExample:\n  $ keelson workspace delete ws_01k…\n")
    .action(async (id: string, flags: WorkspaceFlags) => {
      const workspace = await openWorkspace(cli, id, flags);
      reportWorkspace(cli, await workspace.delete({ signal: cli.host.signal }));
    });
}
