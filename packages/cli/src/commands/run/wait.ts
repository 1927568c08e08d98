import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { waitAndReport } from "../../follow-run.ts";
import { parseMillisecondsOption } from "../../parse-arguments.ts";

export function addRunWait(parent: Command, cli: Cli): void {
  parent
    .command("wait")
    .description("Wait until a run ends and print its output; exit code 7 when it did not succeed")
    .argument("<run>", "its id")
    .option(
      "--timeout <duration>",
      "give up after this time with exit code 124; the run continues",
      parseMillisecondsOption,
    )
    .addHelpText("after", "\nExample:\n  $ keelson run wait run_01k… --timeout 5m && echo done\n")
    .action((id: string, { timeout }: { timeout?: number }) => waitAndReport(cli, id, timeout));
}
