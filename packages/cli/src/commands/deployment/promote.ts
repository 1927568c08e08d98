import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findDeployment } from "../../find-deployment.ts";
import { reportPromoted } from "../../report-promoted.ts";

/** As `deployment promote` and, because it is typed often, as `promote`. */
export function addDeploymentPromote(parent: Command, cli: Cli): void {
  parent
    .command("promote")
    .description("Promote a deployment: make it current (also an older one)")
    .argument("<deployment>", "its version or id")
    .addHelpText("after", "\nExample:\n  $ keelson promote 20261122.4\n")
    .action(async (name: string) => {
      const { signal } = cli.host;
      const client = await cli.client();
      const { id } = await findDeployment(client, name, signal);
      reportPromoted(cli, await client.deployments.promote(id, { signal }));
    });
}
