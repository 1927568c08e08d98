import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findProject, type PlaceOptions } from "../../find-place.ts";
import { listAll, WHOLE } from "../../list-all.ts";
import { printTable, timeCell } from "../../table.ts";

export function addEnvironmentList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List a project's environments")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson environment list --project reports\n")
    .action(async (options: PlaceOptions) => {
      const user = cli.user();
      const { id } = await findProject(cli, user, options);
      const environments = await listAll(
        user.client.environments.list(id, WHOLE, { signal: cli.host.signal }),
      );
      if (cli.isJson()) cli.printJson({ environments, next_cursor: null });
      else {
        const rows = environments.map((environment) => [
          environment.id,
          environment.slug,
          environment.name,
          timeCell(cli, environment.createdAt),
        ]);
        printTable(cli, ["ENVIRONMENT", "SLUG", "NAME", "CREATED"], rows);
      }
    });
}
