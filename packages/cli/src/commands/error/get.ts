import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";

export function addErrorGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show an error group")
    .argument("<error>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson error get err_5z0…\n")
    .action(async (id: string) => {
      const group = await (await cli.client()).errorGroups.get(id, { signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(group);
        return;
      }
      printFields(cli, {
        error: group.id,
        title: group.title,
        status: group.status,
        kind: group.kind,
        message: group.message,
        where: group.frame,
        runs: group.count,
        tasks: group.tasks.join(", "),
        actors: group.actors.join(", "),
        first: group.firstSeenAt,
        last: group.lastSeenAt,
        "last run": group.lastRunId,
        resolved: group.resolvedAt,
        "resolved in": group.resolvedInVersion,
        reopened: group.reopenedAt,
      });
    });
}
