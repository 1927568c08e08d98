import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printUsage } from "../../print-usage.ts";

export function addRunUsage(parent: Command, cli: Cli): void {
  parent
    .command("usage")
    .description("Show what a run's calls of models used")
    .argument("<run>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson run usage run_01k…\n")
    .action(async (id: string) =>
      printUsage(cli, await (await cli.client()).runs.usage(id, { signal: cli.host.signal })),
    );
}
