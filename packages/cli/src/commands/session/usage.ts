import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printUsage } from "../../print-usage.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";

export function addSessionUsage(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent.command("usage").description("Show what the calls of models of its runs and their children used"),
  )
    .addHelpText("after", "\nExample:\n  $ keelson session usage -x ticket-17\n")
    .action(async (id: string, flags: SessionFlags) =>
      printUsage(cli, await (await openSession(cli, id, flags)).usage({ signal: cli.host.signal })),
    );
}
