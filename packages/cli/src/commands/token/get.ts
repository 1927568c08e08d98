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
      const token = await cli.client().tokens.get(id, { signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(token);
        return;
      }
      const by = token.completed_by;
      printFields(cli, {
        token: token.id,
        status: token.status,
        run: token.run_id,
        tags: token.tags.join(", "),
        metadata: Object.keys(token.metadata).length === 0 ? null : token.metadata,
        created: token.created_at,
        expires: token.timeout_at,
        completed: token.completed_at,
        by: by === null ? null : [by.kind, by.id].filter((part) => part !== null).join(" "),
        data: token.data,
      });
    });
}
