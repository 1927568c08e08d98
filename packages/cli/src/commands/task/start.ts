import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { StartCallOptions } from "@keelson/sdk";
import type { Duration } from "@keelson/contract/plain";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { waitAndReport, writeLogs } from "../../follow-run.ts";
import {
  collect,
  parseDurationOption,
  parseIntegerOption,
  parseMillisecondsOption,
  parseObjectOption,
} from "../../parse-arguments.ts";

type Options = {
  payload?: string;
  payloadFile?: string;
  queue?: string;
  concurrencyKey?: string;
  priority?: number;
  delay?: Duration;
  startAt?: string;
  ttl?: Duration;
  maxDuration?: Duration;
  maxAttempts?: number;
  metadata?: Record<string, unknown>;
  tag?: string[];
  deploymentVersion?: string;
  idempotencyKey?: string;
  wait?: boolean;
  follow?: boolean;
  timeout?: number;
};

async function readSource(cli: Cli, path: string): Promise<string> {
  if (path === "-") return text(cli.host.stdin);
  try {
    return await readFile(resolve(cli.host.cwd, path), "utf8");
  } catch (error) {
    throw usageError(`Cannot read ${path}: ${(error as Error).message}`);
  }
}

async function readPayload(cli: Cli, source: string | undefined, options: Options): Promise<unknown> {
  const given = [source, options.payload, options.payloadFile].filter((value) => value !== undefined);
  if (given.length > 1)
    throw usageError("Give the payload once: by --payload, by --payload-file, or by - for standard input");
  if (source !== undefined && source !== "-")
    throw usageError(`Unexpected "${source}"; a payload is given by --payload '${source}'`);
  const json =
    options.payload !== undefined && options.payload !== "-"
      ? options.payload
      : given.length === 0
        ? undefined
        : await readSource(cli, given[0] as string);
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json);
  } catch (error) {
    throw usageError(`The payload is not JSON: ${(error as Error).message}`);
  }
}

function toStartOptions(options: Options): StartCallOptions {
  const { payload, payloadFile, wait, follow, timeout, maxAttempts, tag, ...rest } = options;
  void [payload, payloadFile, wait, follow, timeout];
  return {
    ...rest,
    ...(maxAttempts !== undefined && { retry: { maxAttempts } }),
    ...(tag !== undefined && { tags: tag }),
  };
}

const EXAMPLES = `
Examples:
  $ keelson task start repository-report --payload '{"path": "."}' --follow
  $ keelson task start import --payload-file order.json --idempotency-key order-17
  $ echo '[1, 2, 3]' | keelson task start sum - --wait
`;

export function addTaskStart(parent: Command, cli: Cli): void {
  parent
    .command("start")
    .description("Start a run of a task")
    .argument("<task>", "the task's id, as declared")
    .argument("[source]", "- reads the payload from standard input")
    .option("-p, --payload <json>", "the payload")
    .option("--payload-file <file>", "a file with the payload; - is standard input")
    .option("-w, --wait", "wait for the run's end; exit code 7 when it did not succeed")
    .option("-f, --follow", "as --wait, and write the run's output while it runs")
    .option(
      "--timeout <duration>",
      "give up waiting after this long; the run goes on",
      parseMillisecondsOption,
    )
    .option("--tag <tag>", "a tag of the run (repeatable)", collect)
    .option("--metadata <json>", "a JSON object", parseObjectOption)
    .option("--queue <name>", "another queue than the task's own")
    .option("--concurrency-key <key>", "runs with one key wait for each other")
    .option("--priority <n>", "-100 to 100, higher first", parseIntegerOption(-100, 100))
    .option("--delay <duration>", "start after this long", parseDurationOption)
    .option("--start-at <time>", "start at this time (RFC 3339)")
    .option("--ttl <duration>", "expire when not begun after this long", parseDurationOption)
    .option("--max-duration <duration>", "end an attempt after this long", parseDurationOption)
    .option("--max-attempts <n>", "attempts in all", parseIntegerOption(1, 100))
    .option("--deployment-version <version>", "start the code of this version")
    .option("--idempotency-key <key>", "a repeat with this key gives the same run")
    .addHelpText("after", EXAMPLES)
    .action(async (task: string, source: string | undefined, options: Options) => {
      const payload = await readPayload(cli, source, options);
      const run = await cli
        .client()
        .tasks.start(task, payload, { ...toStartOptions(options), signal: cli.host.signal });
      const waits = options.wait === true || options.follow === true;
      if (cli.isJson() && !waits) cli.printJson(run);
      else if (!waits) cli.print(run.id);
      if (!waits) return;
      cli.notice(`Started ${run.id}`);
      if (options.follow === true)
        await writeLogs(cli, run.id, {
          follow: true,
          ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
        });
      await waitAndReport(cli, run.id, options.timeout);
    });
}
