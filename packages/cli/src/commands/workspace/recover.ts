import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import {
  addWorkspaceArgument,
  openWorkspace,
  reportWorkspace,
  type WorkspaceFlags,
} from "../../workspace-argument.ts";

export function addWorkspaceRecover(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent
      .command("recover")
      .description("Retry a workspace's failed commit now; exits 1 when it fails again"),
  )
    .addHelpText("after", "\nExample:\n  $ keelson workspace recover ws_01k…\n")
    .action(async (id: string, flags: WorkspaceFlags) => {
      const workspace = await openWorkspace(cli, id, flags);
      const recovered = await workspace.recover({ signal: cli.host.signal });
      reportWorkspace(cli, recovered);
      const status = recovered.materialization?.status;
      if (status === "uncommitted" || status === "stopping") throw new ExitError(EXIT.failure);
    });
}
