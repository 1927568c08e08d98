import type { Session } from "@keelson/sdk";
import { SESSION_STATUSES, type SessionStatus } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { collect, collectWord, parseIntegerOption } from "../../parse-arguments.ts";
import { collectPages } from "../../pages.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

type Options = {
  externalId?: string;
  status?: SessionStatus[];
  task?: string;
  actor?: string;
  tag?: string[];
  limit: number;
  cursor?: string;
  all?: boolean;
};

export function addSessionList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List sessions, newest first")
    .option("--status <status>", "only sessions in this status (repeatable)", collectWord(SESSION_STATUSES))
    .option("--task <id>", "only sessions of this task")
    .option("--actor <id>", "only sessions of this actor")
    .option("--tag <tag>", "only sessions with this tag (repeatable: with all of them)", collect)
    .option("--external-id <id>", "only the sessions of this external id")
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson session list --status open --actor chat\n")
    .action(async ({ all = false, limit, ...query }: Options) => {
      const list = (await cli.client()).sessions.list(
        { ...query, limit: all ? 200 : limit },
        { signal: cli.host.signal },
      );
      const { items: sessions, nextCursor } = await collectPages<Session>(list, all);
      if (cli.isJson()) {
        cli.printJson({ sessions, next_cursor: nextCursor });
        return;
      }
      if (sessions.length === 0)
        cli.notice(
          describeEmpty("sessions", query, "Start the first one: `keelson session start --actor <actor>`."),
        );
      else
        printTable(
          cli,
          ["SESSION", "RUNS", "STATUS", "ACTIVITY", "EXTERNAL ID", "CREATED"],
          sessions.map((session) => [
            session.id,
            session.actor ?? session.task ?? "",
            statusCell(session.status),
            session.status === "open" ? session.activity : "",
            session.externalId ?? "",
            timeCell(cli, session.createdAt),
          ]),
        );
      if (nextCursor !== null) cli.notice(`More: --cursor ${nextCursor}`);
    });
}
