import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { writeLogs } from "../../follow-run.ts";

export function addRunLogs(parent: Command, cli: Cli): void {
  parent
    .command("logs")
    .description("Print a run's stdout and stderr")
    .argument("<run>", "its id")
    .option("-f, --follow", "follow until the run has ended")
    .option("--cursor <n>", "only what comes after this chunk")
    .addHelpText("after", "\nExample:\n  $ keelson run logs run_01k… --follow\n")
    .action((id: string, { follow = false, cursor }: { follow?: boolean; cursor?: string }) =>
      writeLogs(cli, id, { follow, ...(cursor !== undefined && { cursor }) }),
    );
}
