import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findDeployment } from "../../find-deployment.ts";
import { printFields } from "../../table.ts";
import { countOf } from "../../terminal/count-of.ts";

export function addDeploymentGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show a deployment")
    .argument("<deployment>", "its version or id, or `current`")
    .addHelpText("after", "\nExample:\n  $ keelson deployment get current\n")
    .action(async (id: string) => {
      const deployment = await findDeployment(await cli.client(), id, cli.host.signal);
      if (cli.isJson()) {
        cli.printJson(deployment);
        return;
      }
      printFields(cli, {
        deployment: deployment.id,
        version: deployment.version,
        status: deployment.isCurrent ? `${deployment.status}, current` : deployment.status,
        error: deployment.error?.message,
        tasks: deployment.tasks.map((task) => task.id).join(", "),
        queues: deployment.queues.map((queue) => queue.name).join(", "),
        bundle: `${deployment.bundle.digest} (${countOf(deployment.bundle.sizeBytes, "byte")})`,
        commit: deployment.git?.commit,
        created: deployment.createdAt,
        promoted: deployment.promotedAt,
      });
    });
}
