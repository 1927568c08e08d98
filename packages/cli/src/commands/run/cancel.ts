import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeRun } from "../../table.ts";

export function addRunCancel(parent: Command, cli: Cli): void {
  parent
    .command("cancel")
    .description("Ask a run to end; its process is ended 10 s later if need be")
    .argument("<run>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson run cancel run_01k…\n")
    .action(async (id: string) => {
      const run = await cli.client().runs.cancel(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(run);
      else cli.print(describeRun(run));
    });
}
