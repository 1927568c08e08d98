import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { listAll, WHOLE } from "../../list-all.ts";
import { printTable } from "../../table.ts";

export function addInvitationList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an organization's invitations")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson invitation list\n")
    .action(async ({ organization }: { organization?: string }) => {
      const { client } = cli.user();
      const { signal } = cli.host;
      const invitations = await listAll(
        client.invitations.list({ ...WHOLE, organizationId: organization }, { signal }),
      );
      if (cli.isJson()) cli.printJson({ invitations, next_cursor: null });
      else if (invitations.length === 0)
        cli.notice(
          describeEmpty("invitations", {}, "Invite the first person: `keelson invitation create <email>`."),
        );
      else {
        const rows = invitations.map((one) => [one.id, one.email, one.role, one.status, one.expiresAt]);
        printTable(cli, ["INVITATION", "EMAIL", "ROLE", "STATUS", "EXPIRES"], rows);
      }
    });
}
