import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { readJson } from "../../read-json.ts";

type Options = { data?: string; file?: string };

const EXAMPLES = `
Examples:
  $ keelson token complete tok_01k… --data '{"approved": true}'
  $ curl -s https://example.com/result.json | keelson token complete tok_01k… -
`;

export function addTokenComplete(parent: Command, cli: Cli): void {
  parent
    .command("complete")
    .description("Complete a token; exit code 5 when it was completed with other data")
    .argument("<token>", "its id")
    .argument("[source]", "- reads the data from standard input")
    .option("-d, --data <json>", "what it is completed with (default null)")
    .option("--file <file>", "a file with the data; - is standard input")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, argument: string | undefined, options: Options) => {
      const data = await readJson(cli, {
        name: "data",
        fileOption: "file",
        argument,
        json: options.data,
        file: options.file,
      });
      const completion = await (await cli.client()).tokens.complete(id, data, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(completion);
      else cli.print(completion.status);
    });
}
