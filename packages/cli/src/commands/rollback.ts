import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { findDeployment, findPrevious } from "../find-deployment.ts";
import { promoteDeployment } from "../promote-deployment.ts";

export function addRollback(parent: Command, cli: Cli): void {
  parent
    .command("rollback")
    .description("Roll back to the deployment that was current before")
    .argument("[deployment]", "another one, by its version or id")
    .option("-y, --yes", "do not ask before removing something in use")
    .addHelpText(
      "after",
      "\nIt shows what it adds, changes and removes. Before it removes a task, actor or schedule that has live runs, open sessions or\nactive schedules, it asks; without a terminal it needs --yes.\nLive runs stay on the deployment they started with.\n\nExample:\n  $ keelson rollback --environment production\n",
    )
    .action(async (name: string | undefined, options: { yes?: boolean }) => {
      const { signal } = cli.host;
      const client = await cli.client();
      const deployment =
        name === undefined ? await findPrevious(client, signal) : await findDeployment(client, name, signal);
      await promoteDeployment(cli, client, deployment, options);
    });
}
