import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";

export function addTokenGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show a completion token")
    .argument("<token>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson token get tok_01k… --json | jq .data\n")
    .action(async (id: string) => {
      const token = await (await cli.client()).tokens.get(id, { signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(token);
        return;
      }
      const by = token.completedBy;
      printFields(cli, {
        token: token.id,
        status: token.status,
        run: token.runId,
        tags: token.tags.join(", "),
        metadata: Object.keys(token.metadata).length === 0 ? null : token.metadata,
        created: token.createdAt,
        expires: token.timeoutAt,
        completed: token.completedAt,
        by: by === null ? null : [by.kind, by.id].filter((part) => part !== null).join(" "),
        data: token.data,
      });
    });
}
