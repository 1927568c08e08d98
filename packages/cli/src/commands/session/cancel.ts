import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";
import { describeSession } from "../../table.ts";

export function addSessionCancel(parent: Command, cli: Cli): void {
  addSessionArgument(parent.command("cancel").description("Cancel a session and its run"))
    .addHelpText("after", "\nExample:\n  $ keelson session cancel sess_01k…\n")
    .action(async (id: string, flags: SessionFlags) => {
      const session = await (await openSession(cli, id, flags)).cancel({ signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(session);
      else cli.print(describeSession(session));
    });
}
