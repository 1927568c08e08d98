import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findDeployment } from "../../find-deployment.ts";
import { promoteDeployment } from "../../promote-deployment.ts";

/** As `deployment promote` and, because it is typed often, as `promote`. */
export function addDeploymentPromote(parent: Command, cli: Cli): void {
  parent
    .command("promote")
    .description("Promote a deployment: make it current (also an older one)")
    .argument("<deployment>", "its version or id")
    .option("-y, --yes", "do not ask before removing something in use")
    .addHelpText(
      "after",
      "\nIt shows what it adds, changes and removes. Before it removes a task, actor or schedule that has live runs, open sessions or\nactive schedules, it asks; without a terminal it needs --yes.\n\nExample:\n  $ keelson promote 20261122.4\n",
    )
    .action(async (name: string, options: { yes?: boolean }) => {
      const client = await cli.client();
      const deployment = await findDeployment(client, name, cli.host.signal);
      await promoteDeployment(cli, client, deployment, options);
    });
}
