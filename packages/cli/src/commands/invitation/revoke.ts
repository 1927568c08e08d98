import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addInvitationRevoke(parent: Command, cli: Cli): void {
  parent
    .command("revoke")
    .description("Revoke an invitation")
    .argument("<invitation>", "its id")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson invitation revoke inv_01k…\n")
    .action(async (id: string, { organization }: { organization?: string }) => {
      const { signal } = cli.host;
      await cli.user().client.invitations.revoke(id, { organizationId: organization, signal });
      if (cli.isJson()) cli.printJson({ id });
      else cli.print(`${id} is revoked`);
    });
}
