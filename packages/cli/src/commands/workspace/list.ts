import type { Workspace } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { collectPages } from "../../pages.ts";
import { collect, parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, statusCell } from "../../table.ts";

type Options = { sandbox?: string; tag?: string[]; limit: number; cursor?: string; all?: boolean };

export function addWorkspaceList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List workspaces, newest first")
    .option("--sandbox <id>", "only workspaces of this sandbox")
    .option("--tag <tag>", "only workspaces with this tag (repeatable: with all of them)", collect)
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "go on from next_cursor of an earlier list")
    .option("--all", "every one, not the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson workspace list --tag support\n")
    .action(async ({ all = false, limit, ...query }: Options) => {
      const list = cli
        .client()
        .workspaces.list({ ...query, limit: all ? 200 : limit }, { signal: cli.host.signal });
      const { items: workspaces, next_cursor } = await collectPages<Workspace>(list, all);
      if (cli.isJson()) {
        cli.printJson({ workspaces, next_cursor });
        return;
      }
      if (workspaces.length === 0) cli.notice("No workspaces.");
      else
        printTable(
          cli,
          ["WORKSPACE", "SANDBOX", "STATUS", "MACHINE", "EXTERNAL ID", "LAST USED"],
          workspaces.map((workspace) => [
            workspace.id,
            workspace.sandbox,
            statusCell(workspace.status),
            workspace.materialization?.status ?? "",
            workspace.external_id ?? "",
            workspace.last_activity_at,
          ]),
        );
      if (next_cursor !== null) cli.notice(`More: --cursor ${next_cursor}`);
    });
}
