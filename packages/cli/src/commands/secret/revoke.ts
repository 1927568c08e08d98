import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addSecretRevoke(parent: Command, cli: Cli): void {
  parent
    .command("revoke")
    .description("Destroy a secret's values; its name stays, and runs that need it fail")
    .argument("<name>", "the secret's name")
    .addHelpText("after", "\nExample:\n  $ keelson secret revoke MAIL_PASSWORD\n")
    .action(async (name: string) => {
      const client = await cli.client();
      const secret = await client.secrets.revoke({ name }, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(secret);
      else cli.print(`${secret.name} revoked`);
    });
}
