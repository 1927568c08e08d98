import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeSchedule } from "../../describe-schedule.ts";

export function addScheduleActivate(parent: Command, cli: Cli): void {
  parent
    .command("activate")
    .description("Activate a schedule: it starts runs again from now on")
    .argument("<schedule>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson schedule activate sched_01k…\n")
    .action(async (id: string) => {
      const schedule = await (await cli.client()).schedules.activate(id, { signal: cli.host.signal });
      if (cli.isJson()) cli.printJson(schedule);
      else cli.print(describeSchedule(schedule));
    });
}
