import type { ApiKey } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";
import { listAll } from "../../list-all.ts";
import { printTable } from "../../table.ts";

export function addKeyList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an environment's API keys")
    .option("--project <project>", "its id or slug")
    .option("--environment <environment>", "its id or slug")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson key list --project reports --environment production\n")
    .action(async (options: PlaceOptions) => {
      const user = cli.user();
      const { id, project_id } = await findEnvironment(cli, user, options);
      const path = `/api/projects/${project_id}/environments/${id}/api-keys`;
      const keys = await listAll<ApiKey>(user.client, path, "api_keys", {}, cli.host.signal);
      if (cli.isJson()) cli.printJson({ api_keys: keys, next_cursor: null });
      else if (keys.length === 0) cli.notice("No API keys.");
      else {
        const rows = keys.map((key) => [
          key.id,
          key.name,
          `${key.permissions.length}`,
          key.last_used_at ?? "never",
          key.expires_at ?? "never",
        ]);
        printTable(cli, ["KEY", "NAME", "PERMISSIONS", "LAST USED", "EXPIRES"], rows);
      }
    });
}
