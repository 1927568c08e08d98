import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import {
  addNewWorkspaceOptions,
  toNewWorkspace,
  type NewWorkspaceFlags,
} from "../../new-workspace-options.ts";
import {
  addWorkspaceArgument,
  openWorkspace,
  reportMade,
  type WorkspaceFlags,
} from "../../workspace-argument.ts";

type Options = NewWorkspaceFlags & WorkspaceFlags & { at?: string };

export function addWorkspaceFork(parent: Command, cli: Cli): void {
  const command = addWorkspaceArgument(
    parent.command("fork").description("Fork a workspace and print the new id"),
  ).option("--at <version>", "with the files of this version instead of the current ones");
  addNewWorkspaceOptions(command)
    .addHelpText("after", "\nExample:\n  $ keelson workspace fork ws_01k… --name experiment\n")
    .action(async (id: string, { at, ...flags }: Options) => {
      const { signal } = cli.host;
      const fromVersionId =
        at ?? (await (await openWorkspace(cli, id, flags)).get({ signal })).currentVersionId;
      const workspace = { ...toNewWorkspace(flags), fromVersionId };
      reportMade(cli, await (await cli.client()).workspaces.create(workspace, { signal }));
    });
}
