import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";
import { listAll, WHOLE } from "../../list-all.ts";
import { printTable, timeCell } from "../../table.ts";

export function addKeyList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List an environment's API keys")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson key list --project reports --environment production\n")
    .action(async (options: PlaceOptions) => {
      const user = cli.user();
      const { id, projectId } = await findEnvironment(cli, user, options);
      const place = { projectId, environmentId: id };
      const keys = await listAll(user.client.apiKeys.list(place, WHOLE, { signal: cli.host.signal }));
      if (cli.isJson()) cli.printJson({ api_keys: keys, next_cursor: null });
      else if (keys.length === 0)
        cli.notice(describeEmpty("API keys", {}, "Create the first one: `keelson key create <name>`."));
      else {
        const rows = keys.map((key) => [
          key.id,
          key.name,
          `${key.permissions.length}`,
          timeCell(cli, key.lastUsedAt, "never"),
          timeCell(cli, key.expiresAt, "never"),
        ]);
        printTable(cli, ["KEY", "NAME", "PERMISSIONS", "LAST USED", "EXPIRES"], rows);
      }
    });
}
