import {
  ERROR_GROUP_ORDERS,
  ERROR_GROUP_STATUSES,
  type ErrorGroupOrder,
  type ErrorGroupStatus,
} from "@keelson/contract/plain";
import type { Command } from "commander";
import { Option } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { collectWord, parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

type Query = {
  status?: ErrorGroupStatus[];
  task?: string;
  actor?: string;
  seenSince?: string;
  order?: ErrorGroupOrder;
  limit: number;
  cursor?: string;
};

export function addErrorList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List error groups, the latest failure first")
    .option("--status <status>", "only groups in this status (repeatable)", collectWord(ERROR_GROUP_STATUSES))
    .option("--task <id>", "only groups with failed runs of this task")
    .option("--actor <id>", "only groups with failed runs of this actor")
    .option("--seen-since <time>", "only groups with a failure at or after this time")
    .addOption(new Option("--order <order>", "what comes first").choices(ERROR_GROUP_ORDERS))
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .addHelpText("after", "\nExample:\n  $ keelson error list --status open --order count\n")
    .action(async (query: Query) => {
      const page = await (await cli.client()).errorGroups.list(query, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ error_groups: page.items, next_cursor: page.nextCursor });
      else if (page.items.length === 0)
        cli.notice(describeEmpty("error groups", query, "No run has failed."));
      else {
        const rows = page.items.map((group) => [
          group.id,
          statusCell(group.status),
          String(group.count),
          timeCell(cli, group.lastSeenAt),
          [...group.tasks, ...group.actors].join(", "),
          group.title,
        ]);
        printTable(cli, ["ERROR", "STATUS", "RUNS", "LAST", "TASKS AND ACTORS", "TITLE"], rows);
      }
      if (!cli.isJson() && page.nextCursor !== null) cli.notice(`More: --cursor ${page.nextCursor}`);
    });
}
