import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell } from "../../table.ts";

export function addScheduleList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List schedules, newest first")
    .option("--task <id>", "only schedules of this task")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "go on from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson schedule list --task report\n")
    .action(async (query: { task?: string; limit: number; cursor?: string }) => {
      const page = await cli.client().schedules.list(query, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ schedules: page.items, next_cursor: page.next_cursor });
      else if (page.items.length === 0) cli.notice("No schedules.");
      else {
        const rows = page.items.map((item) => [
          item.id,
          item.deduplication_key,
          item.task,
          statusCell(item.status),
          `${item.cron} (${item.timezone})`,
          item.next_run_at ?? "",
        ]);
        printTable(cli, ["SCHEDULE", "KEY", "TASK", "STATUS", "CRON", "NEXT"], rows);
      }
      if (!cli.isJson() && page.next_cursor !== null) cli.notice(`More: --cursor ${page.next_cursor}`);
    });
}
