import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeErrorGroup } from "../../describe-error-group.ts";

export function addErrorOpen(parent: Command, cli: Cli): void {
  parent
    .command("open")
    .description("Open a resolved or muted error group again")
    .argument("<error>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson error open err_5z0…\n")
    .action(async (id: string) => {
      const group = await (await cli.client()).errorGroups.open(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(group);
      else cli.print(describeErrorGroup(group));
    });
}
