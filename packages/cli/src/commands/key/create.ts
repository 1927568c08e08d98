import type { DurationInput, NewApiKey } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { findEnvironment, type PlaceOptions } from "../../find-place.ts";
import { collect, parseDurationOption } from "../../parse-arguments.ts";

/** The server says which permissions there are. */
type Options = PlaceOptions & {
  permission?: NonNullable<NewApiKey["permissions"]>;
  expiresIn?: DurationInput;
};

export function addKeyCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Create an API key and print it, only this once")
    .argument("<name>", "what it is for")
    .option("--permission <permission>", "what it may do (repeatable; default: all)", collect)
    .option("--expires-in <duration>", "how long the key is valid (default: forever)", parseDurationOption)
    .option("--organization <id>", "needed by a member of several")
    .addHelpText(
      "after",
      "\nExample:\n  $ keelson key create CI --permission deployments.create --expires-in 90d --environment production\n",
    )
    .action(async (name: string, { permission, expiresIn, ...options }: Options) => {
      const user = cli.user();
      const { id, projectId } = await findEnvironment(cli, user, options);
      const key = await user.client.apiKeys.create(
        { projectId, environmentId: id },
        { name, permissions: permission, expiresIn },
        { signal: cli.host.signal },
      );
      if (cli.isJson()) {
        cli.printJson(key);
        return;
      }
      cli.notice(`${key.id}. Keep the key now: it is shown nowhere else.`);
      cli.print(key.apiKey);
    });
}
