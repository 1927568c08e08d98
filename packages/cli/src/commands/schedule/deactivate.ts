import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeSchedule } from "../../describe-schedule.ts";

export function addScheduleDeactivate(parent: Command, cli: Cli): void {
  parent
    .command("deactivate")
    .description("Deactivate a schedule: it starts no runs until it is activated")
    .argument("<schedule>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson schedule deactivate sched_01k…\n")
    .action(async (id: string) => {
      const schedule = await (await cli.client()).schedules.deactivate(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(schedule);
      else cli.print(describeSchedule(schedule));
    });
}
