import type { Project } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { listAll } from "../../list-all.ts";
import { printTable } from "../../table.ts";

export function addProjectList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an organization's projects")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson project list\n")
    .action(async ({ organization }: { organization?: string }) => {
      const { client } = cli.user();
      const query = { organization_id: organization };
      const projects = await listAll<Project>(client, "/api/projects", "projects", query, cli.host.signal);
      if (cli.isJson()) cli.printJson({ projects, next_cursor: null });
      else if (projects.length === 0) cli.notice("No projects.");
      else {
        const rows = projects.map((project) => [project.id, project.slug, project.name, project.created_at]);
        printTable(cli, ["PROJECT", "SLUG", "NAME", "CREATED"], rows);
      }
    });
}
