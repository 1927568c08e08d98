import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";

export function addKeyRevoke(parent: Command, cli: Cli): void {
  parent
    .command("revoke")
    .description("Revoke an API key")
    .argument("<key>", "its id")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson key revoke key_01k…\n")
    .action(async (key: string, options: PlaceOptions) => {
      const user = cli.user();
      const { id, projectId } = await findEnvironment(cli, user, options);
      const place = { projectId, environmentId: id };
      await user.client.apiKeys.revoke(place, key, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson({ id: key });
      else cli.print(`${key} is revoked`);
    });
}
