import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, findProject, type PlaceOptions } from "../../find-place.ts";
import { keepPlace } from "../../user-credentials.ts";

export function addEnvironmentUse(parent: Command, cli: Cli): void {
  parent
    .command("use")
    .description("Use an environment for the following commands")
    .argument("<environment>", "its id or slug")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText(
      "after",
      "\nKept for this account, server and project. --environment and KEELSON_ENVIRONMENT win over it.\n\nExample:\n  $ keelson environment use production\n",
    )
    .action(async (name: string, options: PlaceOptions) => {
      const user = cli.user();
      const project = await findProject(cli, user, options);
      const environment = await findEnvironment(cli, user, {
        ...options,
        project: project.id,
        environment: name,
      });
      keepPlace(cli.host.env, user.credentials.url, project.id, environment.id);
      if (cli.isJson()) cli.printJson({ url: user.credentials.url, project, environment });
      else cli.print(`Using ${project.slug} / ${environment.slug} at ${user.credentials.url}`);
    });
}
