import type { DiffEntry } from "@keelson/sdk";
import type { Command } from "commander";
import { paint, type Cli, type Style } from "../../cli.ts";
import { visibleLine } from "../../terminal/visible.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";

type Options = WorkspaceFlags & { base?: string };

const EXAMPLES = `
Examples:
  $ keelson workspace diff ws_01k…                     # what the last change did
  $ keelson workspace diff ws_01k… wsv_01k… --base wsv_01j…
`;

const MARKS: Record<DiffEntry["change"], { mark: string; style: Style }> = {
  added: { mark: "A", style: "green" },
  removed: { mark: "D", style: "red" },
  modified: { mark: "M", style: "yellow" },
};

export function addWorkspaceDiff(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent
      .command("diff")
      .description(
        "List what a version added (A), deleted (D) and modified (M); with --json an object a line",
      ),
  )
    .argument("[version]", "by default the current one")
    .option("--base <version>", "compare with this version instead of the previous one")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, version: string | undefined, { base, ...flags }: Options) => {
      const { signal } = cli.host;
      const workspace = await openWorkspace(cli, id, flags);
      const of = version ?? (await workspace.get({ signal })).currentVersionId;
      const options = { limit: 500, signal, ...(base !== undefined && { base }) };
      for await (const change of workspace.versions.diff(of, options)) {
        const { mark, style } = MARKS[change.change];
        if (cli.isJson()) cli.printJson(change);
        else cli.print(`${paint(cli.host.stdout, style, mark)} ${visibleLine(change.path)}`);
      }
    });
}
