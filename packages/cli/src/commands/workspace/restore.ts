import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";

export function addWorkspaceRestore(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent
      .command("restore")
      .description(
        "Make a version's files the current ones, as a new version; the workspace must not be live",
      ),
  )
    .argument("<version>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson workspace restore ws_01k… wsv_01j…\n")
    .action(async (id: string, versionId: string, flags: WorkspaceFlags) => {
      const { versions } = await openWorkspace(cli, id, flags);
      const version = await versions.restore(versionId, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(version);
      else cli.print(version.id);
    });
}
