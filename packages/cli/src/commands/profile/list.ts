import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { readProfiles } from "../../profiles.ts";
import { printTable } from "../../table.ts";

export function addProfileList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List the profiles of this account")
    .addHelpText("after", "\nExample:\n  $ keelson profile list\n")
    .action(() => {
      const profiles = Object.entries(readProfiles(cli.host.env)).map(([name, profile]) => ({
        name,
        ...profile,
      }));
      if (cli.isJson()) cli.printJson({ profiles });
      else if (profiles.length === 0)
        cli.notice(
          describeEmpty(
            "profiles",
            {},
            "Save the first one: `keelson profile set <name> --environment <environment>`.",
          ),
        );
      else {
        const rows = profiles.map(({ name, url, project, environment }) => [
          name,
          project ?? "",
          environment ?? "",
          url ?? "",
        ]);
        printTable(cli, ["PROFILE", "PROJECT", "ENVIRONMENT", "SERVER"], rows);
      }
    });
}
