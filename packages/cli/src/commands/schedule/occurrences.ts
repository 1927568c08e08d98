import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

export function addScheduleOccurrences(parent: Command, cli: Cli): void {
  parent
    .command("occurrences")
    .description("Show past due times and their outcomes, newest first")
    .argument("<schedule>", "its id")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson schedule occurrences sched_01k…\n")
    .action(async (id: string, query: { limit: number; cursor?: string }) => {
      const { signal } = cli.host;
      const page = await (await cli.client()).schedules.occurrences(id, query, { signal }).page();
      if (cli.isJson()) cli.printJson({ occurrences: page.items, next_cursor: page.nextCursor });
      else if (page.items.length === 0) cli.notice("Nothing has come due yet.");
      else {
        const rows = page.items.map((item) => [
          timeCell(cli, item.scheduledAt),
          statusCell(item.status),
          item.runId ?? item.reason?.message ?? "",
        ]);
        printTable(cli, ["DUE", "STATUS", "RUN OR REASON"], rows);
      }
      if (!cli.isJson() && page.nextCursor !== null) cli.notice(`More: --cursor ${page.nextCursor}`);
    });
}
