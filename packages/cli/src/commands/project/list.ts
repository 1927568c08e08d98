import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { listAll, WHOLE } from "../../list-all.ts";
import { printTable } from "../../table.ts";

export function addProjectList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an organization's projects")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson project list\n")
    .action(async ({ organization }: { organization?: string }) => {
      const { client } = cli.user();
      const projects = await listAll(
        client.projects.list({ ...WHOLE, organizationId: organization }, { signal: cli.host.signal }),
      );
      if (cli.isJson()) cli.printJson({ projects, next_cursor: null });
      else if (projects.length === 0)
        cli.notice(describeEmpty("projects", {}, "Create the first one: `keelson project create <name>`."));
      else {
        const rows = projects.map((project) => [project.id, project.slug, project.name, project.createdAt]);
        printTable(cli, ["PROJECT", "SLUG", "NAME", "CREATED"], rows);
      }
    });
}
