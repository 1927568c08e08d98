import type { Worker } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addWorkerDrain(parent: Command, cli: Cli): void {
  parent
    .command("drain")
    .description("Let a worker finish or hand back what it has, and end")
    .argument("<worker>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson worker drain wkr_01k…\n")
    .action(async (id: string) => {
      const worker = await cli.admin().client.request<Worker>({
        method: "POST",
        path: `/admin/api/v1/workers/${encodeURIComponent(id)}/drain`,
        // A repeat changes nothing.
        repeatable: true,
        signal: cli.host.signal,
      });
      if (cli.isJson()) cli.printJson(worker);
      else cli.print(`${worker.id} (${worker.name}) is ${worker.status}`);
    });
}
