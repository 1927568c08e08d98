import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { readSecret } from "../../read-secret.ts";

const EXAMPLES = `
The value is typed at the terminal, read from standard input, or from a file.

Examples:
  $ keelson secret set MAIL_PASSWORD
  $ pass show mail | keelson secret set MAIL_PASSWORD
  $ keelson secret set SIGNING_KEY --from-file key.pem
`;

export function addSecretSet(parent: Command, cli: Cli): void {
  parent
    .command("set")
    .description("Give a secret a value: a new one, or a new version")
    .argument("<name>", "letters, digits and _")
    .option("--from-file <file>", "the file's content, as it is")
    .addHelpText("after", EXAMPLES)
    .action(async (name: string, options: { fromFile?: string }) => {
      const value = await readSecret(cli, name, options.fromFile);
      const secret = await cli.client().secrets.set(name, value, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(secret);
      else cli.print(`${secret.name} version ${secret.version}`);
    });
}
