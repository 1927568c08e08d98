import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell } from "../../table.ts";

export function addSecretList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List secrets, newest first; values are never shown")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 50)
    .option("--cursor <cursor>", "go on from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson secret list\n")
    .action(async (query: { limit: number; cursor?: string }) => {
      const page = await cli.client().secrets.list(query, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ secrets: page.items, next_cursor: page.next_cursor });
      else if (page.items.length === 0) cli.notice("No secrets.");
      else {
        const rows = page.items.map((item) => [
          item.name,
          statusCell(item.status),
          `${item.version}`,
          item.last_used_at ?? "never",
          item.updated_at,
        ]);
        printTable(cli, ["SECRET", "STATUS", "VERSION", "LAST USED", "CHANGED"], rows);
      }
      if (!cli.isJson() && page.next_cursor !== null) cli.notice(`More: --cursor ${page.next_cursor}`);
    });
}
