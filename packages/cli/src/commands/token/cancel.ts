import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addTokenCancel(parent: Command, cli: Cli): void {
  parent
    .command("cancel")
    .description("Cancel a token; the run that waits for it is told")
    .argument("<token>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson token cancel tok_01k…\n")
    .action(async (id: string) => {
      const token = await (await cli.client()).tokens.cancel(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(token);
      else cli.print(token.status);
    });
}
