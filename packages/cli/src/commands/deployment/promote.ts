import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addDeploymentPromote(parent: Command, cli: Cli): void {
  parent
    .command("promote")
    .description("Make a deployment current; an older one to go back")
    .argument("<deployment>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson deployment promote dep_01k…\n")
    .action(async (id: string) => {
      const deployment = await cli.client().deployments.promote(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(deployment);
      else cli.print(`${deployment.version} is current`);
    });
}
