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
    .description("Give a secret that is there a new value")
    .argument("<name>", "the secret's name")
    .option("--from-file <file>", "the file's content, as it is")
    .addHelpText("after", EXAMPLES)
    .action(async (name: string, options: { fromFile?: string }) => {
      const { signal } = cli.host;
      const { secrets } = cli.client();
      const { id } = await secrets.get(name, { signal });
      const value = await readSecret(cli, name, options.fromFile);
      const secret = await secrets.rotate(id, value, { signal });
      if (cli.isJson()) cli.printJson(secret);
      else cli.print(`${secret.name} version ${secret.version}`);
    });
}
