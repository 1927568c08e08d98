import type { FileEntry } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printTable } from "../../table.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";

type Options = WorkspaceFlags & { at?: string };

const EXAMPLES = `
Examples:
  $ keelson workspace files ws_01k…
  $ keelson workspace files ws_01k… src --at wsv_01k…
`;

function nameOf({ name, kind, linkTarget: target }: FileEntry): string {
  if (kind === "directory") return `${name}/`;
  return kind === "symlink" ? `${name} -> ${target}` : name;
}

export function addWorkspaceFiles(parent: Command, cli: Cli): void {
  addWorkspaceArgument(parent.command("files").description("List a directory of a workspace"))
    .argument("[path]", "the directory; by default the root")
    .option("--at <version>", "of this version instead of the current one")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, path: string | undefined, { at, ...flags }: Options) => {
      const workspace = await openWorkspace(cli, id, flags);
      const files: FileEntry[] = [];
      const query = {
        limit: 500,
        signal: cli.host.signal,
        ...(at !== undefined && { versionId: at }),
      };
      for await (const entry of workspace.files.list(path, query)) files.push(entry);
      if (cli.isJson()) cli.printJson({ files });
      else if (files.length === 0)
        cli.notice(
          "No files in this directory. Write the first one: `keelson workspace put <workspace> <path> <source>`.",
        );
      else
        printTable(
          cli,
          ["MODE", "SIZE", "MODIFIED", "NAME"],
          files.map((entry) => [entry.mode, String(entry.sizeBytes), entry.modifiedAt, nameOf(entry)]),
        );
    });
}
