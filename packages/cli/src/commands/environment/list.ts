import type { Environment } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findProject, type PlaceOptions } from "../../find-place.ts";
import { listAll } from "../../list-all.ts";
import { printTable } from "../../table.ts";

export function addEnvironmentList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List a project's environments")
    .option("--project <project>", "its id or slug")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson environment list --project reports\n")
    .action(async (options: PlaceOptions) => {
      const user = cli.user();
      const { id } = await findProject(cli, user, options);
      const path = `/api/projects/${id}/environments`;
      const { signal } = cli.host;
      const environments = await listAll<Environment>(user.client, path, "environments", {}, signal);
      if (cli.isJson()) cli.printJson({ environments, next_cursor: null });
      else {
        const rows = environments.map((environment) => [
          environment.id,
          environment.slug,
          environment.name,
          environment.created_at,
        ]);
        printTable(cli, ["ENVIRONMENT", "SLUG", "NAME", "CREATED"], rows);
      }
    });
}
