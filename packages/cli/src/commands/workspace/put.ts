import { InvalidArgumentError, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { readSource } from "../../read-source.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";

type Options = WorkspaceFlags & { mode?: string };

const EXAMPLES = `
Examples:
  $ keelson workspace put ws_01k… config/app.json app.json
  $ tar c src | keelson workspace put ws_01k… src.tar -
`;

function parseMode(text: string): string {
  if (/^0?[0-7]{3}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be permission bits in octal, such as 644 or 755.");
}

export function addWorkspacePut(parent: Command, cli: Cli): void {
  addWorkspaceArgument(
    parent.command("put").description("Write a file as a new version; the workspace must not be live"),
  )
    .argument("<path>", "from the workspace's root; missing directories are made")
    .argument("<source>", "a file here; - is standard input")
    .option("--mode <octal>", "permission bits (default: as they are, else 644)", parseMode)
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, path: string, source: string, { mode, ...flags }: Options) => {
      const content = await readSource(cli, source);
      const { files } = await openWorkspace(cli, id, flags);
      const written = await files.write(path, content, {
        signal: cli.host.signal,
        ...(mode !== undefined && { mode }),
      });
      if (cli.isJson()) cli.printJson(written);
      else cli.print(written.versionId);
    });
}
