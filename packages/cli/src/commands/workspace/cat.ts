import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";
import { writeBytes } from "../../write-bytes.ts";

type Options = WorkspaceFlags & { at?: string };

export function addWorkspaceCat(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent
      .command("cat")
      .description("Print a file's bytes; with --json its entry and its content in base64"),
  )
    .argument("<path>", "from the workspace's root")
    .option("--at <version>", "of this version instead of the current one")
    .addHelpText("after", "\nExample:\n  $ keelson workspace cat ws_01k… dist/app.tar.gz > app.tar.gz\n")
    .action(async (id: string, path: string, { at, ...flags }: Options) => {
      const { files } = await openWorkspace(cli, id, flags);
      const of = { signal: cli.host.signal, ...(at !== undefined && { versionId: at }) };
      if (!cli.isJson()) {
        await writeBytes(cli.host.stdout, await files.read(path, of));
        return;
      }
      const [file, bytes] = await Promise.all([files.stat(path, of), files.read(path, of)]);
      cli.printJson({ file, content: Buffer.from(bytes).toString("base64") });
    });
}
