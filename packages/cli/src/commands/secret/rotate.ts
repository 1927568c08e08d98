import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { readSecret } from "../../read-secret.ts";

const EXAMPLES = `
As \`secret set\`, but the secret must be there and in use. Attempts that have begun keep their version.

Example:
  $ new-password | keelson secret rotate MAIL_PASSWORD
`;

export function addSecretRotate(parent: Command, cli: Cli): void {
  parent
    .command("rotate")
    .description("Rotate a secret: add a version with a new value")
    .argument("<name>", "the secret's name")
    .option("--from-file <file>", "the file's content, as it is; it must be text in UTF-8")
    .addHelpText("after", EXAMPLES)
    .action(async (name: string, options: { fromFile?: string }) => {
      const { signal } = cli.host;
      const client = await cli.client();
      // A name that is not there is told before a value is typed.
      await client.secrets.get(name, { signal });
      const value = await readSecret(cli, name, options.fromFile);
      const secret = await client.secrets.rotate({ name }, value, { signal });
      if (cli.isJson()) cli.printJson(secret);
      else cli.print(`${secret.name} version ${secret.version}`);
    });
}
