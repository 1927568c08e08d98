import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findProject } from "../../find-place.ts";

type Options = { name?: string; slug?: string; organization?: string };

export function addProjectUpdate(parent: Command, cli: Cli): void {
  parent
    .command("update")
    .description("Rename a project or change its slug")
    .argument("<project>", "its id or slug")
    .option("--name <name>", "what it is called")
    .option("--slug <slug>", "its name in commands")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", '\nExample:\n  $ keelson project update reports --name "Weekly reports"\n')
    .action(async (project: string, { name, slug, ...options }: Options) => {
      const user = cli.user();
      const { id } = await findProject(cli, user, { ...options, project });
      const updated = await user.client.projects.update(id, { name, slug }, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(updated);
      else cli.print(`${updated.id} ${updated.slug}`);
    });
}
