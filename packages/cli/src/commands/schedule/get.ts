import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";

export function addScheduleGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show a schedule")
    .argument("<schedule>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson schedule get sched_01k…\n")
    .action(async (id: string) => {
      const schedule = await (await cli.client()).schedules.get(id, { signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(schedule);
        return;
      }
      printFields(cli, {
        schedule: schedule.id,
        key: schedule.deduplicationKey,
        type: schedule.type,
        status: schedule.status,
        why: schedule.lastError?.message,
        task: schedule.task,
        cron: `${schedule.cron} (${schedule.timezone})`,
        options: Object.keys(schedule.options).length === 0 ? null : schedule.options,
        next: schedule.nextRunAt,
        last: schedule.lastRunAt,
        run: schedule.lastRunId,
        created: schedule.createdAt,
      });
    });
}
