import type { Member } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { listAll } from "../../list-all.ts";
import { printTable } from "../../table.ts";

export function addMemberList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an organization's members")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson member list\n")
    .action(async ({ organization }: { organization?: string }) => {
      const { client } = cli.user();
      const query = { organization_id: organization };
      const members = await listAll<Member>(client, "/api/members", "members", query, cli.host.signal);
      if (cli.isJson()) cli.printJson({ members, next_cursor: null });
      else {
        const rows = members.map((member) => [
          member.user_id,
          member.email,
          member.role,
          member.name ?? "",
          member.created_at,
        ]);
        printTable(cli, ["USER", "EMAIL", "ROLE", "NAME", "SINCE"], rows);
      }
    });
}
