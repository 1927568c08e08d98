import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addDeploymentEvents(parent: Command, cli: Cli): void {
  parent
    .command("events")
    .description("Print the events of a deployment, oldest first")
    .argument("<deployment>", "its id")
    .option("--cursor <n>", "only what comes after this event")
    .addHelpText("after", "\nExample:\n  $ keelson deployment events dep_01k…\n")
    .action(async (id: string, options: { cursor?: string }) => {
      for await (const event of (await cli.client()).deployments.events(id, {
        ...options,
        signal: cli.host.signal,
      })) {
        if (cli.isJson()) cli.printJson(event);
        else cli.print(`${event.at}  ${event.kind.padEnd(20)}  ${event.message}`);
      }
    });
}
