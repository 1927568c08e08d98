import type { CreatedApiKey } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";
import { collect, parseDurationOption } from "../../parse-arguments.ts";

type Options = PlaceOptions & { permission?: string[]; expiresIn?: string };

export function addKeyCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Create an API key and write it, this once")
    .argument("<name>", "what it is for")
    .option("--permission <permission>", "what it may do (repeatable; default: all)", collect)
    .option("--expires-in <duration>", "how long it is good (default: for ever)", parseDurationOption)
    .option("--project <project>", "its id or slug")
    .option("--environment <environment>", "its id or slug")
    .option("--organization <id>", "needed by a member of several")
    .addHelpText(
      "after",
      "\nExample:\n  $ keelson key create CI --permission deployments.create --expires-in 90d --environment production\n",
    )
    .action(async (name: string, { permission, expiresIn, ...options }: Options) => {
      const user = cli.user();
      const { id, project_id } = await findEnvironment(cli, user, options);
      const key = await user.client.request<CreatedApiKey>({
        method: "POST",
        path: `/api/projects/${project_id}/environments/${id}/api-keys`,
        body: { json: { name, permissions: permission, expires_in: expiresIn } },
        signal: cli.host.signal,
      });
      if (cli.isJson()) {
        cli.printJson(key);
        return;
      }
      cli.notice(`${key.id}. Keep the key now: it is shown nowhere else.`);
      cli.print(key.api_key);
    });
}
