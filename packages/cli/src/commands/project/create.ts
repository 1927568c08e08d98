import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addProjectCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Create a project with the environments development and production")
    .argument("<name>", "what it is called")
    .option("--slug <slug>", "its name in commands (default: made from the name)")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", '\nExample:\n  $ keelson project create "Reports"\n')
    .action(async (name: string, { slug, organization }: { slug?: string; organization?: string }) => {
      const project = await cli
        .user()
        .client.projects.create({ name, slug, organizationId: organization }, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(project);
      else cli.print(`${project.id} ${project.slug}`);
    });
}
