import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeErrorGroup } from "../../describe-error-group.ts";

export function addErrorMute(parent: Command, cli: Cli): void {
  parent
    .command("mute")
    .description("Mute an error group: it stays muted and keeps counting")
    .argument("<error>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson error mute err_5z0…\n")
    .action(async (id: string) => {
      const group = await (await cli.client()).errorGroups.mute(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(group);
      else cli.print(describeErrorGroup(group));
    });
}
