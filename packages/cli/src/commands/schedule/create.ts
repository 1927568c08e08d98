import type { ScheduledRunOptions } from "@keelson/sdk";
import type { Duration } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeSchedule } from "../../describe-schedule.ts";
import { collect, parseDurationOption, parseIntegerOption } from "../../parse-arguments.ts";

type Options = {
  key: string;
  task: string;
  cron: string;
  timezone?: string;
  externalId?: string;
  inactive?: boolean;
  queue?: string;
  concurrencyKey?: string;
  priority?: number;
  ttl?: Duration;
  maxDuration?: Duration;
  maxAttempts?: number;
  tag?: string[];
};

function toRunOptions({ maxAttempts, tag, ...options }: Options): ScheduledRunOptions {
  const { queue, concurrencyKey, priority, ttl, maxDuration } = options;
  return {
    ...(queue !== undefined && { queue }),
    ...(concurrencyKey !== undefined && { concurrencyKey }),
    ...(priority !== undefined && { priority }),
    ...(ttl !== undefined && { ttl }),
    ...(maxDuration !== undefined && { maxDuration }),
    ...(maxAttempts !== undefined && { retry: { maxAttempts } }),
    ...(tag !== undefined && { tags: tag }),
  };
}

const EXAMPLE = `
With a key that is known, that schedule is replaced.

Example:
  $ keelson schedule create --key nightly --task report --cron "30 2 * * *" --timezone Europe/Berlin
`;

export function addScheduleCreate(parent: Command, cli: Cli): void {
  parent
    .command("create")
    .description("Create a schedule that starts runs of a task")
    .requiredOption("--key <key>", "names the schedule in its environment")
    .requiredOption("--task <id>", "the task to start")
    .requiredOption("--cron <expression>", "minute, hour, day of month, month, day of week; six with seconds")
    .option("--timezone <name>", "an IANA time zone (default: UTC)")
    .option("--external-id <id>", "your own id for it")
    .option("--inactive", "create the schedule inactive")
    .option("--queue <name>", "override the task's queue")
    .option("--concurrency-key <key>", "runs with one key wait for each other")
    .option("--priority <n>", "-100 to 100, higher starts first", parseIntegerOption(-100, 100))
    .option("--ttl <duration>", "expire runs that have not started after this time", parseDurationOption)
    .option("--max-duration <duration>", "stop an attempt after this time", parseDurationOption)
    .option("--max-attempts <n>", "attempts in all", parseIntegerOption(1, 100))
    .option("--tag <tag>", "a tag of the runs (repeatable)", collect)
    .addHelpText("after", EXAMPLE)
    .action(async (options: Options) => {
      const { key, task, cron, timezone, externalId, inactive } = options;
      const schedule = await (
        await cli.client()
      ).schedules.put(
        {
          ...{ deduplicationKey: key, task, cron, active: inactive !== true },
          ...(timezone !== undefined && { timezone }),
          ...(externalId !== undefined && { externalId }),
          options: toRunOptions(options),
        },
        { signal: cli.host.signal },
      );
      if (cli.isJson()) cli.printJson(schedule);
      else cli.print(describeSchedule(schedule));
    });
}
