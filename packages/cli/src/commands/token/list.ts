import type { Token } from "@keelson/sdk";
import { TOKEN_STATUSES, type TokenStatus } from "@keelson/contract/plain";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { collectPages } from "../../pages.ts";
import { collect, collectWord, parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

type Options = {
  status?: TokenStatus[];
  tag?: string[];
  order?: "newest" | "oldest";
  limit: number;
  cursor?: string;
  all?: boolean;
};

export function addTokenList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List completion tokens, newest first")
    .option("--status <status>", "only tokens in this status (repeatable)", collectWord(TOKEN_STATUSES))
    .option("--tag <tag>", "only tokens with this tag (repeatable: with all of them)", collect)
    .addOption(new Option("--order <order>", "which stand first").choices(["newest", "oldest"]))
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson token list --status pending\n")
    .action(async ({ all = false, limit, ...query }: Options) => {
      const list = (await cli.client()).tokens.list(
        { ...query, limit: all ? 200 : limit },
        { signal: cli.host.signal },
      );
      const { items: tokens, nextCursor } = await collectPages<Token>(list, all);
      if (cli.isJson()) {
        cli.printJson({ tokens, next_cursor: nextCursor });
        return;
      }
      if (tokens.length === 0)
        cli.notice(describeEmpty("tokens", query, "Create the first one: `keelson token create`."));
      else
        printTable(
          cli,
          ["TOKEN", "STATUS", "RUN", "EXPIRES", "CREATED"],
          tokens.map((token) => [
            token.id,
            statusCell(token.status),
            token.runId ?? "",
            timeCell(cli, token.timeoutAt),
            timeCell(cli, token.createdAt),
          ]),
        );
      if (nextCursor !== null) cli.notice(`More: --cursor ${nextCursor}`);
    });
}
