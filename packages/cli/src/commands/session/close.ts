import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";
import { describeSession } from "../../table.ts";

export function addSessionClose(parent: Command, cli: Cli): void {
  addSessionArgument(parent.command("close").description("Close a session; a running turn finishes"))
    .option("--reason <text>", "why")
    .addHelpText("after", "\nExample:\n  $ keelson session close sess_01k… --reason solved\n")
    .action(async (id: string, { reason, ...flags }: SessionFlags & { reason?: string }) => {
      const { signal } = cli.host;
      const session = await (
        await openSession(cli, id, flags)
      ).close({
        signal,
        ...(reason !== undefined && { reason }),
      });
      if (cli.isJson()) cli.printJson(session);
      else cli.print(describeSession(session));
    });
}
