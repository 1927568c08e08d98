import type { Command } from "commander";
import { paint, type Cli } from "../../cli.ts";
import { describeEvent } from "../../table.ts";

export function addRunEvents(parent: Command, cli: Cli): void {
  parent
    .command("events")
    .description("Print the events of a run, oldest first")
    .argument("<run>", "its id")
    .option("-f, --follow", "follow until the run has ended")
    .option("--cursor <n>", "only what comes after this event")
    .addHelpText("after", "\nExample:\n  $ keelson run events run_01k… --follow --json\n")
    .action(async (id: string, options: { follow?: boolean; cursor?: string }) => {
      const { signal, stdout } = cli.host;
      for await (const event of (await cli.client()).runs.events(id, { ...options, signal })) {
        if (cli.isJson()) cli.printJson(event);
        else
          cli.print(
            event.severity === "error" ? paint(stdout, "red", describeEvent(event)) : describeEvent(event),
          );
      }
    });
}
