import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeErrorGroup } from "../../describe-error-group.ts";

export function addErrorResolve(parent: Command, cli: Cli): void {
  parent
    .command("resolve")
    .description("Resolve an error group: it opens again if another run fails in the same way")
    .argument("<error>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson error resolve err_5z0…\n")
    .action(async (id: string) => {
      const group = await (await cli.client()).errorGroups.resolve(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(group);
      else cli.print(describeErrorGroup(group));
    });
}
