import { basename } from "node:path";
import { MEDIA_TYPE_PATTERN } from "@keelson/contract/plain";
import { InvalidArgumentError, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { mediaTypeOf } from "../../media-type-of.ts";
import { readSource } from "../../read-source.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";

type Options = SessionFlags & { name?: string; mediaType?: string };

const EXAMPLES = `
Without --media-type, the file's name tells the type, else it is application/octet-stream.
The same bytes with the same name and media type are the same file.

Examples:
  $ keelson session put sess_01k… receipt.png
  $ git diff | keelson session put -x ticket-17 - --name my.diff
`;

function parseMediaType(text: string): string {
  if (new RegExp(MEDIA_TYPE_PATTERN).test(text)) return text;
  throw new InvalidArgumentError("It must be a type and a subtype, such as image/png.");
}

export function addSessionPut(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent.command("put").description("Upload a file of up to 64 MiB to a session, and print its id"),
  )
    .argument("<source>", "a file here; - is standard input")
    .option("--name <name>", "its name in the session (default: as it is here; standard input has none)")
    .option("--media-type <type>", "such as image/png", parseMediaType)
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, source: string, options: Options) => {
      const { name = source === "-" ? undefined : basename(source), mediaType, ...flags } = options;
      const content = await readSource(cli, source);
      const type = mediaType ?? (name === undefined ? undefined : mediaTypeOf(name));
      const { files } = await openSession(cli, id, flags);
      const file = await files.upload(content, {
        signal: cli.host.signal,
        ...(name !== undefined && { name }),
        ...(type !== undefined && { mediaType: type }),
      });
      if (cli.isJson()) cli.printJson(file);
      else cli.print(file.id);
    });
}
