import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { collectPages } from "../../pages.ts";
import { printTable } from "../../table.ts";

export function addActorList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List the actors of the current deployment")
    .addHelpText("after", "\nExample:\n  $ keelson actor list --json | jq -r '.actors[].declared_id'\n")
    .action(async () => {
      const list = (await cli.client()).actors.list({ limit: 200 }, { signal: cli.host.signal });
      const { items: actors } = await collectPages(list, true);
      if (cli.isJson()) cli.printJson({ actors, next_cursor: null });
      else if (actors.length === 0)
        cli.notice(
          "No actors in the current deployment. Declare one with `actor()`, then run `keelson deploy`.",
        );
      else
        printTable(
          cli,
          ["ACTOR", "QUEUE", "DESCRIPTION"],
          actors.map((actor) => [actor.declaredId, actor.queue ?? "", actor.description ?? ""]),
        );
    });
}
