import type { Duration } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { collect, parseDurationOption, parseObjectOption } from "../../parse-arguments.ts";
import { printFields } from "../../table.ts";

type Options = {
  timeout?: Duration;
  metadata?: Record<string, unknown>;
  tag?: string[];
  idempotencyKey?: string;
};

const EXAMPLES = `
Example:
  $ keelson token create --timeout 1h --json | jq -r .callback_url
`;

export function addTokenCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Create a completion token; its secrets are shown only once")
    .option("--timeout <duration>", "until it expires (default 24h, at most 30d)", parseDurationOption)
    .option("--metadata <json>", "a JSON object", parseObjectOption)
    .option("--tag <tag>", "a tag (repeatable)", collect)
    .option("--idempotency-key <key>", "a repeat with this key returns the same token")
    .addHelpText("after", EXAMPLES)
    .action(async ({ tag, ...options }: Options) => {
      const { signal } = cli.host;
      const token = await (
        await cli.client()
      ).tokens.create({ ...options, ...(tag && { tags: tag }) }, { signal });
      if (cli.isJson()) cli.printJson(token);
      else
        printFields(cli, {
          token: token.id,
          expires: token.timeoutAt,
          "public access token": token.publicAccessToken,
          "callback url": token.callbackUrl,
        });
    });
}
