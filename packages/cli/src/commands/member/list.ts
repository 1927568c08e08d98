import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { listAll, WHOLE } from "../../list-all.ts";
import { printTable, timeCell } from "../../table.ts";

export function addMemberList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an organization's members")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson member list\n")
    .action(async ({ organization }: { organization?: string }) => {
      const { client } = cli.user();
      const members = await listAll(
        client.members.list({ ...WHOLE, organizationId: organization }, { signal: cli.host.signal }),
      );
      if (cli.isJson()) cli.printJson({ members, next_cursor: null });
      else {
        const rows = members.map((member) => [
          member.userId,
          member.email,
          member.role,
          member.name ?? "",
          timeCell(cli, member.createdAt),
        ]);
        printTable(cli, ["USER", "EMAIL", "ROLE", "NAME", "SINCE"], rows);
      }
    });
}
