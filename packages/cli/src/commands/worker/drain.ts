import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addWorkerDrain(parent: Command, cli: Cli): void {
  parent
    .command("drain")
    .description("Drain a worker: it finishes or hands back its runs and exits")
    .argument("<worker>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson worker drain wkr_01k…\n")
    .action(async (id: string) => {
      const worker = await cli.admin().workers.drain(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(worker);
      else cli.print(`${worker.id} (${worker.name}) is ${worker.status}`);
    });
}
