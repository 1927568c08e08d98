import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { findDeployment, findPrevious } from "../find-deployment.ts";
import { reportPromoted } from "../report-promoted.ts";

export function addRollback(parent: Command, cli: Cli): void {
  parent
    .command("rollback")
    .description("Roll back to the deployment that was current before")
    .argument("[deployment]", "another one, by its version or id")
    .addHelpText(
      "after",
      "\nLive runs stay on the deployment they started with.\n\nExample:\n  $ keelson rollback --environment production\n",
    )
    .action(async (name: string | undefined) => {
      const { signal } = cli.host;
      const client = await cli.client();
      const { id } =
        name === undefined ? await findPrevious(client, signal) : await findDeployment(client, name, signal);
      reportPromoted(cli, await client.deployments.promote(id, { signal }));
    });
}
