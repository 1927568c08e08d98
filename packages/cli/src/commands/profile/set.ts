import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { keepProfile } from "../../profiles.ts";
import { findUser } from "../../user-credentials.ts";

export function addProfileSet(parent: Command, cli: Cli): void {
  parent
    .command("set")
    .description("Save a server, project and environment as a profile")
    .argument("<name>", "the profile")
    .addHelpText(
      "after",
      "\nA profile holds no credential: the sign-in to its server is used.\n\nExample:\n  $ keelson profile set live --project reports --environment production\n  $ keelson run list --profile live\n",
    )
    .action((name: string) => {
      const { env, cwd } = cli.host;
      const { project, environment, ...chosen } = cli.place();
      const url = chosen.url ?? findUser({}, env, cwd)?.url ?? null;
      if (url === null && project === null && environment === null)
        throw usageError(`Say what ${name} stands for: --url, --project or --environment`);
      const profile = { url, project, environment };
      keepProfile(env, name, profile);
      if (cli.isJson()) cli.printJson({ name, ...profile });
      else cli.print(`${name}: ${[url, project, environment].filter(Boolean).join(" / ")}`);
    });
}
