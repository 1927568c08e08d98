import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addSecretDelete(parent: Command, cli: Cli): void {
  parent
    .command("delete")
    .description("Delete a secret with its values; runs that need it fail")
    .argument("<name>", "the secret's name")
    .addHelpText("after", "\nExample:\n  $ keelson secret delete MAIL_PASSWORD\n")
    .action(async (name: string) => {
      await (await cli.client()).secrets.delete(name, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson({ name, deleted: true });
      else cli.notice(`Deleted ${name}`);
    });
}
