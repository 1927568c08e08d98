import type { WorkspaceVersion } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { collectPages } from "../../pages.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable, timeCell } from "../../table.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";

type Options = WorkspaceFlags & { limit: number; cursor?: string; all?: boolean };

export function addWorkspaceVersions(parent: Command, cli: Cli): void {
  addWorkspaceArgument(parent.command("versions").description("List a workspace's versions, newest first"))
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText("after", "\nExample:\n  $ keelson workspace versions ws_01k… --all\n")
    .action(async (id: string, { all = false, limit, cursor, ...flags }: Options) => {
      const { versions: api } = await openWorkspace(cli, id, flags);
      const query = { limit: all ? 200 : limit, ...(cursor !== undefined && { cursor }) };
      const list = api.list(query, { signal: cli.host.signal });
      const { items: versions, nextCursor } = await collectPages<WorkspaceVersion>(list, all);
      if (cli.isJson()) {
        cli.printJson({ versions, next_cursor: nextCursor });
        return;
      }
      printTable(
        cli,
        ["VERSION", "NUMBER", "CAUSE", "FILES", "BYTES", "CREATED"],
        versions.map((version) => [
          version.id,
          String(version.number),
          version.cause.id ?? version.cause.kind,
          String(version.fileCount),
          String(version.sizeBytes),
          timeCell(cli, version.createdAt),
        ]),
      );
      if (nextCursor !== null) cli.notice(`More: --cursor ${nextCursor}`);
    });
}
