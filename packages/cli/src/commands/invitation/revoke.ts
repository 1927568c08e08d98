import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addInvitationRevoke(parent: Command, cli: Cli): void {
  parent
    .command("revoke")
    .description("Take an invitation back")
    .argument("<invitation>", "its id")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson invitation revoke inv_01k…\n")
    .action(async (id: string, { organization }: { organization?: string }) => {
      await cli.user().client.request({
        method: "DELETE",
        path: `/api/invitations/${encodeURIComponent(id)}`,
        query: { organization_id: organization },
        signal: cli.host.signal,
      });
      if (cli.isJson()) cli.printJson({ id });
      else cli.print(`${id} is revoked`);
    });
}
