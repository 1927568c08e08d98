import type { Run } from "@keelson/sdk";
import { RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { collectPages } from "../../pages.ts";
import { collectWord, parseIntegerOption } from "../../parse-arguments.ts";
import { printRuns } from "../../print-runs.ts";

type Options = {
  status?: RunStatus[];
  task?: string;
  tag?: string;
  priority?: number;
  error?: string;
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
    .option("--priority <n>", "only runs of this priority", parseIntegerOption(-100, 100))
    .option("--error <id>", "only runs of this error group")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson run list --status failed --task repository-report\n")
    .action(async ({ all = false, limit, error: errorGroupId, ...query }: Options) => {
      const list = (await cli.client()).runs.list(
        { ...query, ...(errorGroupId !== undefined && { errorGroupId }), limit: all ? 200 : limit },
        { signal: cli.host.signal },
      );
      const { items: runs, nextCursor: next } = await collectPages<Run>(list, all);
      if (cli.isJson()) {
        cli.printJson({ runs, next_cursor: next });
        return;
      }
      if (runs.length === 0)
        cli.notice(describeEmpty("runs", query, "Start the first one: `keelson task start <task>`."));
      else printRuns(cli, runs);
      if (next !== null) cli.notice(`More: --cursor ${next}`);
    });
}
