import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";

export function addWorkerGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show a worker")
    .argument("<worker>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson worker get wkr_01k…\n")
    .action(async (id: string) => {
      const worker = await cli.admin().workers.get(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(worker);
      else printFields(cli, cli.wire.of(worker) as Record<string, unknown>);
    });
}
