import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addScheduleDelete(parent: Command, cli: Cli): void {
  parent
    .command("delete")
    .description("Delete a schedule; started runs continue")
    .argument("<schedule>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson schedule delete sched_01k…\n")
    .action(async (id: string) => {
      await (await cli.client()).schedules.delete(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson({ id, deleted: true });
      else cli.notice(`Deleted ${id}`);
    });
}
