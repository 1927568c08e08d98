import type { Role } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseRole } from "../../parse-role.ts";

export function addInvitationCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Invite a person by mail")
    .argument("<email>", "their address")
    .option("--role <role>", "owner, admin, developer or viewer", parseRole, "developer")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson invitation create ada@example.com --role viewer\n")
    .action(async (email: string, { role, organization }: { role: Role; organization?: string }) => {
      const invitation = await cli
        .user()
        .client.invitations.create(
          { email, role, organizationId: organization },
          { signal: cli.host.signal },
        );
      if (cli.isJson()) cli.printJson(invitation);
      else cli.print(`${invitation.id}: ${email} is invited as ${invitation.role}`);
    });
}
