import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { forgetProfile } from "../../profiles.ts";

export function addProfileRemove(parent: Command, cli: Cli): void {
  parent
    .command("remove")
    .description("Forget a profile; the sign-in to its server stays")
    .argument("<name>", "the profile")
    .addHelpText("after", "\nExample:\n  $ keelson profile remove live\n")
    .action((name: string) => {
      forgetProfile(cli.host.env, name);
      if (cli.isJson()) cli.printJson({ name, removed: true });
      else cli.print(`${name} is removed`);
    });
}
