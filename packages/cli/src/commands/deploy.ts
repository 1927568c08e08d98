import { resolve } from "node:path";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { deployBundle } from "../deploy-bundle.ts";
import { parseMillisecondsOption } from "../parse-arguments.ts";

type Options = { promote: boolean; timeout: number };

export function addDeploy(parent: Command, cli: Cli): void {
  parent
    .command("deploy")
    .description("Bundle a project's tasks, deploy them, and make them current")
    .argument("[directory]", "the project", ".")
    .option("--no-promote", "leave what is current as it is")
    .option("--timeout <duration>", "wait this long for a worker to load it", parseMillisecondsOption, 60_000)
    .addHelpText(
      "after",
      `\nTask files are those of package.json's "keelson": {"tasks": ["src/tasks/**/*.ts"]} (the default).\n\nExample:\n  $ keelson deploy --no-promote\n`,
    )
    .action(async (directory: string, { promote, timeout }: Options) => {
      const client = cli.client();
      const folder = resolve(cli.host.cwd, directory);
      const { buildBundle } = await import("../bundle/build-bundle.ts");
      const bundle = await buildBundle({ directory: folder });
      for (const warning of bundle.warnings) cli.notice(`warning: ${warning}`);
      const options = {
        directory: folder,
        promote,
        timeoutMs: timeout,
        signal: cli.host.signal,
        progress: cli.notice,
      };
      const deployment = await deployBundle(client, bundle, options);
      if (cli.isJson()) cli.printJson(deployment);
      else
        cli.print(
          `${deployment.version} is ${promote ? "current" : `ready; promote it with: keelson deployment promote ${deployment.id}`}`,
        );
    });
}
