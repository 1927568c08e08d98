import type { SessionFile } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { collectPages } from "../../pages.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";
import { printTable, timeCell } from "../../table.ts";

type Options = SessionFlags & { limit: number; cursor?: string; all?: boolean };

const EXAMPLES = `
Examples:
  $ keelson session files sess_01k…
  $ keelson session files -x ticket-17 --all --json | jq -r '.files[].id'
`;

export function addSessionFiles(parent: Command, cli: Cli): void {
  addSessionArgument(parent.command("files").description("List the files of a session, newest first"))
    .option("--limit <n>", "how many", parseIntegerOption(1, 200), 20)
    .option("--cursor <cursor>", "continue from next_cursor of an earlier list")
    .option("--all", "all of them, not only the first --limit")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, { limit, cursor, all = false, ...flags }: Options) => {
      const session = await openSession(cli, id, flags);
      const query = { limit: all ? 200 : limit, ...(cursor !== undefined && { cursor }) };
      const list = session.files.list(query, { signal: cli.host.signal });
      const { items: files, nextCursor } = await collectPages<SessionFile>(list, all);
      if (cli.isJson()) return cli.printJson({ files, next_cursor: nextCursor });
      if (files.length === 0)
        cli.notice("No files yet. Upload the first one: `keelson session put <session> <source>`.");
      else
        printTable(
          cli,
          ["FILE", "SIZE", "TYPE", "NAME", "CREATED"],
          files.map((file) => [
            file.id,
            String(file.sizeBytes),
            file.mediaType,
            file.name ?? "",
            timeCell(cli, file.createdAt),
          ]),
        );
      if (nextCursor !== null) cli.notice(`More: --cursor ${nextCursor}`);
    });
}
