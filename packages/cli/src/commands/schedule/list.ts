import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

export function addScheduleList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List schedules, newest first")
    .option("--task <id>", "only schedules of this task")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson schedule list --task report\n")
    .action(async (query: { task?: string; limit: number; cursor?: string }) => {
      const page = await (await cli.client()).schedules.list(query, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ schedules: page.items, next_cursor: page.nextCursor });
      else if (page.items.length === 0)
        cli.notice(
          describeEmpty(
            "schedules",
            query,
            'Create the first one: `keelson schedule create --key nightly --task <task> --cron "30 2 * * *"`.',
          ),
        );
      else {
        const rows = page.items.map((item) => [
          item.id,
          item.deduplicationKey,
          item.task,
          statusCell(item.status),
          `${item.cron} (${item.timezone})`,
          timeCell(cli, item.nextRunAt, ""),
        ]);
        printTable(cli, ["SCHEDULE", "KEY", "TASK", "STATUS", "CRON", "NEXT"], rows);
      }
      if (!cli.isJson() && page.nextCursor !== null) cli.notice(`More: --cursor ${page.nextCursor}`);
    });
}
