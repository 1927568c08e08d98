import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
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
    .description("Set a secret: create it, or add a version")
    .argument("<name>", "letters, digits and _")
    // Not declared, it would be an unknown option, which does not say why there is none.
    .addOption(new Option("--value <value>").hideHelp())
    .option("--from-file <file>", "the file's content, as it is; it must be text in UTF-8")
    .addHelpText("after", EXAMPLES)
    .action(async (name: string, options: { fromFile?: string; value?: string }) => {
      if (options.value !== undefined)
        throw usageError(
          `The shell keeps what is typed, and other processes see it: leave --value out and type the value, or pipe it to \`keelson secret set ${name}\``,
        );
      const value = await readSecret(cli, name, options.fromFile);
      const secret = await (await cli.client()).secrets.set(name, value, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(secret);
      else cli.print(`${secret.name} version ${secret.version}`);
    });
}
