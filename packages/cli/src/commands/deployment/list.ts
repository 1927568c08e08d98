import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

export function addDeploymentList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List deployments, newest first")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson deployment list\n")
    .action(async (query: { limit: number; cursor?: string }) => {
      const page = await (await cli.client()).deployments.list(query, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ deployments: page.items, next_cursor: page.nextCursor });
      else if (page.items.length === 0)
        cli.notice(describeEmpty("deployments", query, "Deploy your project: `keelson deploy`."));
      else {
        const rows = page.items.map((item) => [
          item.id,
          item.version,
          statusCell(item.status),
          item.isCurrent ? "current" : "",
          `${item.tasks.length}`,
          timeCell(cli, item.createdAt),
        ]);
        printTable(cli, ["DEPLOYMENT", "VERSION", "STATUS", "", "TASKS", "CREATED"], rows);
      }
      if (!cli.isJson() && page.nextCursor !== null) cli.notice(`More: --cursor ${page.nextCursor}`);
    });
}
