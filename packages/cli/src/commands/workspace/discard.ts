import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import {
  addWorkspaceArgument,
  openWorkspace,
  reportWorkspace,
  type WorkspaceFlags,
} from "../../workspace-argument.ts";

type Options = WorkspaceFlags & { confirm?: boolean };

export function addWorkspaceDiscard(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent.command("discard").description("Discard a workspace's uncommitted files; they are lost"),
  )
    .option("--confirm", "the files are lost, and that is meant")
    .addHelpText("after", "\nExample:\n  $ keelson workspace discard ws_01k… --confirm\n")
    .action(async (id: string, { confirm, ...flags }: Options) => {
      if (confirm !== true)
        throw new ExitError(
          EXIT.usage,
          "The files that could not be committed would be lost. Add --confirm to discard them, or try `keelson workspace recover` first",
        );
      const workspace = await openWorkspace(cli, id, flags);
      reportWorkspace(cli, await workspace.discard({ confirm: true }, { signal: cli.host.signal }));
    });
}
