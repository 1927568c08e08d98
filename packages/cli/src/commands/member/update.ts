import type { Role } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findMember } from "../../find-member.ts";
import { parseRole } from "../../parse-role.ts";

export function addMemberUpdate(parent: Command, cli: Cli): void {
  parent
    .command("update")
    .description("Change a member's role")
    .argument("<member>", "their address or id")
    .requiredOption("--role <role>", "owner, admin, developer or viewer", parseRole)
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson member update ada@example.com --role admin\n")
    .action(async (named: string, { role, organization }: { role: Role; organization?: string }) => {
      const user = cli.user();
      const { userId } = await findMember(cli, user, named, organization);
      const member = await user.client.members.update(
        userId,
        { role, organizationId: organization },
        { signal: cli.host.signal },
      );
      if (cli.isJson()) cli.printJson(member);
      else cli.print(`${member.email} is ${member.role}`);
    });
}
