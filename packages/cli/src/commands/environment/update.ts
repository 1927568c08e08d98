import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";

type Options = Omit<PlaceOptions, "environment"> & { name?: string; slug?: string };

export function addEnvironmentUpdate(parent: Command, cli: Cli): void {
  parent
    .command("update")
    .description("Rename an environment or change its slug")
    .argument("<environment>", "its id or slug")
    .option("--name <name>", "what it is called")
    .option("--slug <slug>", "its name in commands")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson environment update staging --name Preview\n")
    .action(async (environment: string, { name, slug, ...options }: Options) => {
      const user = cli.user();
      const { id, projectId } = await findEnvironment(cli, user, { ...options, environment });
      const updated = await user.client.environments.update(
        { projectId, environmentId: id },
        { name, slug },
        { signal: cli.host.signal },
      );
      if (cli.isJson()) cli.printJson(updated);
      else cli.print(`${updated.id} ${updated.slug}`);
    });
}
