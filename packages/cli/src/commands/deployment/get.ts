import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";

export function addDeploymentGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show a deployment")
    .argument("<deployment>", "its id, or `current`")
    .addHelpText("after", "\nExample:\n  $ keelson deployment get current\n")
    .action(async (id: string) => {
      const { deployments } = cli.client();
      const options = { signal: cli.host.signal };
      const deployment =
        id === "current" ? await deployments.current(options) : await deployments.get(id, options);
      if (cli.isJson()) {
        cli.printJson(deployment);
        return;
      }
      printFields(cli, {
        deployment: deployment.id,
        version: deployment.version,
        status: deployment.is_current ? `${deployment.status}, current` : deployment.status,
        error: deployment.error?.message,
        tasks: deployment.tasks.map((task) => task.id).join(", "),
        queues: deployment.queues.map((queue) => queue.name).join(", "),
        bundle: `${deployment.bundle.digest} (${deployment.bundle.size_bytes} bytes)`,
        commit: deployment.git?.commit,
        created: deployment.created_at,
        promoted: deployment.promoted_at,
      });
    });
}
