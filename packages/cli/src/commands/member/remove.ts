import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findMember } from "../../find-member.ts";

export function addMemberRemove(parent: Command, cli: Cli): void {
  parent
    .command("remove")
    .description("Remove a member from an organization")
    .argument("<member>", "their address or id")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson member remove ada@example.com\n")
    .action(async (named: string, { organization }: { organization?: string }) => {
      const user = cli.user();
      const member = await findMember(cli, user, named, organization);
      const { signal } = cli.host;
      await user.client.members.remove(member.userId, { organizationId: organization, signal });
      if (cli.isJson()) cli.printJson(member);
      else cli.print(`${member.email} is no member any more`);
    });
}
