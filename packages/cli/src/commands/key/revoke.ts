import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";

export function addKeyRevoke(parent: Command, cli: Cli): void {
  parent
    .command("revoke")
    .description("Make an API key worthless")
    .argument("<key>", "its id")
    .option("--project <project>", "its id or slug")
    .option("--environment <environment>", "its id or slug")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText("after", "\nExample:\n  $ keelson key revoke key_01k…\n")
    .action(async (key: string, options: PlaceOptions) => {
      const user = cli.user();
      const { id, project_id } = await findEnvironment(cli, user, options);
      await user.client.request({
        method: "DELETE",
        path: `/api/projects/${project_id}/environments/${id}/api-keys/${encodeURIComponent(key)}`,
        signal: cli.host.signal,
      });
      if (cli.isJson()) cli.printJson({ id: key });
      else cli.print(`${key} is revoked`);
    });
}
