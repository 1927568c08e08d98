import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import {
  addNewWorkspaceOptions,
  toNewWorkspace,
  type NewWorkspaceFlags,
} from "../../new-workspace-options.ts";
import { reportMade } from "../../workspace-argument.ts";

type Options = NewWorkspaceFlags & { sandbox?: string };

const EXAMPLES = `
Examples:
  $ keelson workspace create --name ticket-17
  $ keelson workspace create --sandbox node --tag nightly --json | jq -r .id
`;

export function addWorkspaceCreate(parent: Command, cli: Cli): void {
  const command = parent
    .command("create")
    .description("Create a workspace and print its id")
    .option("--sandbox <id>", "the declared id of the sandbox it is made from (default: default)");
  addNewWorkspaceOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async ({ sandbox, ...flags }: Options) => {
      const workspace = { ...toNewWorkspace(flags), ...(sandbox !== undefined && { sandbox }) };
      reportMade(cli, await (await cli.client()).workspaces.create(workspace, { signal: cli.host.signal }));
    });
}
