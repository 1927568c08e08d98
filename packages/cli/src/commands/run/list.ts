import type { Run, RunQuery } from "@keelson/sdk";
import { RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { collectPages } from "../../pages.ts";
import { checkSearch } from "../../check-search.ts";
import { collectWord, parseIntegerOption } from "../../parse-arguments.ts";
import { printRuns } from "../../print-runs.ts";

type Options = {
  status?: RunStatus[];
  task?: string;
  tag?: string;
  priority?: number;
  error?: string;
  search?: string;
  children?: boolean;
  scheduled?: boolean;
  limit: number;
  cursor?: string;
  all?: boolean;
};

type Query = Omit<Options, "limit" | "all">;

const queryOf = ({ error, children = true, scheduled = true, ...query }: Query): RunQuery => {
  const hide = [...(children ? [] : ["children" as const]), ...(scheduled ? [] : ["scheduled" as const])];
  return {
    ...query,
    ...(error !== undefined && { errorGroupId: error }),
    ...(hide.length > 0 && { hide }),
  };
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
    .option(
      "--search <text>",
      "only runs with these words; also status:failed, error:timeout, metadata.key:value",
    )
    .option("--no-children", "no runs that other runs started")
    .option("--no-scheduled", "no runs that schedules started")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText(
      "after",
      "\nExample:\n  $ keelson run list --status failed --task repository-report\n  $ keelson run list --search 'timeout error:host created:>2026-01-31'\n",
    )
    .action(async ({ all = false, limit, ...options }: Options) => {
      checkSearch(options.search);
      const query = queryOf(options);
      const list = (await cli.client()).runs.list(
        { ...query, limit: all ? 200 : limit },
        { signal: cli.host.signal },
      );
      const { items: runs, nextCursor: next } = await collectPages<Run>(list, all ? "all" : "until found");
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
