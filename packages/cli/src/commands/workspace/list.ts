import type { Workspace } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { collectPages } from "../../pages.ts";
import { collect, parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

type Options = { sandbox?: string; tag?: string[]; limit: number; cursor?: string; all?: boolean };

export function addWorkspaceList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List workspaces, newest first")
    .option("--sandbox <id>", "only workspaces of this sandbox")
    .option("--tag <tag>", "only workspaces with this tag (repeatable: with all of them)", collect)
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson workspace list --tag support\n")
    .action(async ({ all = false, limit, ...query }: Options) => {
      const list = (await cli.client()).workspaces.list(
        { ...query, limit: all ? 200 : limit },
        { signal: cli.host.signal },
      );
      const { items: workspaces, nextCursor } = await collectPages<Workspace>(list, all);
      if (cli.isJson()) {
        cli.printJson({ workspaces, next_cursor: nextCursor });
        return;
      }
      if (workspaces.length === 0)
        cli.notice(describeEmpty("workspaces", query, "Create the first one: `keelson workspace create`."));
      else
        printTable(
          cli,
          ["WORKSPACE", "SANDBOX", "STATUS", "MACHINE", "EXTERNAL ID", "LAST USED"],
          workspaces.map((workspace) => [
            workspace.id,
            workspace.sandbox,
            statusCell(workspace.status),
            workspace.materialization?.status ?? "",
            workspace.externalId ?? "",
            timeCell(cli, workspace.lastActivityAt),
          ]),
        );
      if (nextCursor !== null) cli.notice(`More: --cursor ${nextCursor}`);
    });
}
