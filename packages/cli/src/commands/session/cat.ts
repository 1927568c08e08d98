import { NotFoundError } from "@keelson/sdk";
import type { Command } from "commander";
import { checkIsId } from "../../check-is-id.ts";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";
import { writeBytes } from "../../write-bytes.ts";
import { checkIsNew, writeNewFile } from "../../write-new-file.ts";

type Options = SessionFlags & { output?: string };

const EXAMPLES = `
The uploader chose the name of the file, so it never becomes a path here.

Examples:
  $ keelson session cat sess_01k… file_01k… --output receipt.png
  $ keelson session cat -x ticket-17 file_01k… | wc -l
`;

/** The server does not tell which of the two there is not. An external id is not repeated: with a space in it, it would be two words. */
const noSuchFile = (session: string, file: string, { externalId }: SessionFlags): ExitError =>
  new ExitError(
    EXIT.notFound,
    `The session has no file ${file}, or there is no such session: \`keelson session files ${externalId === true ? "-x EXTERNAL_ID" : session}\` lists its files.`,
  );

export function addSessionCat(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent
      .command("cat")
      .description("Print a file's bytes; with --json its fields and its content in base64"),
  )
    .argument("<file>", "its id")
    .option("-o, --output <path>", "write to a new file here instead; with --json print its fields")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, fileId: string, { output, ...flags }: Options) => {
      checkIsId("file", "file", fileId, " `keelson session files` lists them.");
      if (output !== undefined) checkIsNew(cli, output);
      const { files } = await openSession(cli, id, flags);
      const { signal } = cli.host;
      const bytes = await files.read(fileId, { signal }).catch((error: unknown) => {
        throw error instanceof NotFoundError && !cli.isJson() ? noSuchFile(id, fileId, flags) : error;
      });
      if (output !== undefined) await writeNewFile(cli, output, bytes);
      if (cli.isJson()) {
        const file = await files.get(fileId, { signal });
        cli.printJson(output === undefined ? { file, content: Buffer.from(bytes).toString("base64") } : file);
      } else if (output === undefined) await writeBytes(cli.host.stdout, bytes);
    });
}
