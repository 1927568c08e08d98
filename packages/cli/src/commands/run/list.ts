import type { Run } from "@keelson/sdk";
import { RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { collectPages } from "../../pages.ts";
import { collectWord, parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell } from "../../table.ts";

type Options = {
  status?: RunStatus[];
  task?: string;
  tag?: string;
  limit: number;
  cursor?: string;
  all?: boolean;
};

export function addRunList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List runs, newest first")
    .option("--status <status>", "only runs in this status (repeatable)", collectWord(RUN_STATUSES))
    .option("--task <id>", "only runs of this task")
    .option("--tag <tag>", "only runs with this tag")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "go on from next_cursor of an earlier list")
    .option("--all", "every one, not the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson run list --status failed --task repository-report\n")
    .action(async ({ all = false, limit, ...query }: Options) => {
      const list = cli
        .client()
        .runs.list({ ...query, limit: all ? 200 : limit }, { signal: cli.host.signal });
      const { items: runs, next_cursor: next } = await collectPages<Run>(list, all);
      if (cli.isJson()) {
        cli.printJson({ runs, next_cursor: next });
        return;
      }
      if (runs.length === 0) cli.notice("No runs.");
      else
        printTable(
          cli,
          ["RUN", "TASK", "STATUS", "ATTEMPT", "CREATED"],
          runs.map((run) => [
            run.id,
            run.task ?? run.actor ?? "",
            statusCell(run.status),
            run.attempt_number === null ? "" : `${run.attempt_number}/${run.max_attempts}`,
            run.created_at,
          ]),
        );
      if (next !== null) cli.notice(`More: --cursor ${next}`);
    });
}
