import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findProject, type PlaceOptions } from "../../find-place.ts";

export function addEnvironmentCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Create an environment of a project")
    .argument("<name>", "what it is called")
    .option("--slug <slug>", "its name in commands (default: made from the name)")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson environment create Staging --project reports\n")
    .action(async (name: string, { slug, ...options }: PlaceOptions & { slug?: string }) => {
      const user = cli.user();
      const { id } = await findProject(cli, user, options);
      const environment = await user.client.environments.create(
        id,
        { name, slug },
        { signal: cli.host.signal },
      );
      if (cli.isJson()) cli.printJson(environment);
      else cli.print(`${environment.id} ${environment.slug}`);
    });
}
