import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

export function addSecretList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List secrets, newest first; values are never shown")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 50)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson secret list\n")
    .action(async (query: { limit: number; cursor?: string }) => {
      const page = await (await cli.client()).secrets.list(query, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ secrets: page.items, next_cursor: page.nextCursor });
      else if (page.items.length === 0)
        cli.notice(describeEmpty("secrets", query, "Set the first one: `keelson secret set <name>`."));
      else {
        const rows = page.items.map((item) => [
          item.name,
          statusCell(item.status),
          `${item.version}`,
          timeCell(cli, item.lastUsedAt, "never"),
          timeCell(cli, item.updatedAt),
        ]);
        printTable(cli, ["SECRET", "STATUS", "VERSION", "LAST USED", "CHANGED"], rows);
      }
      if (!cli.isJson() && page.nextCursor !== null) cli.notice(`More: --cursor ${page.nextCursor}`);
    });
}
