import type { Duration } from "@keelson/contract/plain";
import type { StartOptions } from "@keelson/sdk";
import type { Command } from "commander";
import {
  collect,
  parseDurationOption,
  parseIntegerOption,
  parseMillisecondsOption,
  parseObjectOption,
} from "./parse-arguments.ts";

/** What every start of a run can be given, as commander has it. */
export type StartFlags = {
  workspace?: string;
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
};

export const addWaitOptions = (command: Command): Command =>
  command
    .option("-w, --wait", "wait for the run's end; exit code 7 when it did not succeed")
    .option("-f, --follow", "like --wait, and print the run's output while it runs")
    .option(
      "--timeout <duration>",
      "give up waiting after this long; the run continues",
      parseMillisecondsOption,
    );

/** `owner` is what the tags and metadata are of. */
export const addStartOptions = (command: Command, owner: string): Command =>
  command
    .option("--tag <tag>", `a tag of the ${owner} (repeatable)`, collect)
    .option("--metadata <json>", `a JSON object of the ${owner}`, parseObjectOption)
    .option("--workspace <id>", "the workspace that the run works in")
    .option("--queue <name>", "override the declared queue")
    .option("--concurrency-key <key>", "runs with one key wait for each other")
    .option("--priority <n>", "-100 to 100, higher starts first", parseIntegerOption(-100, 100))
    .option("--delay <duration>", "start after this long", parseDurationOption)
    .option("--start-at <time>", "start at this time (RFC 3339)")
    .option("--ttl <duration>", "expire if the run has not started after this time", parseDurationOption)
    .option("--max-duration <duration>", "stop an attempt after this time", parseDurationOption)
    .option("--max-attempts <n>", "attempts in all", parseIntegerOption(1, 100))
    .option("--deployment-version <version>", "start the code of this version")
    .option("--idempotency-key <key>", "a repeat with this key returns the same run");

export const toStartOptions = (flags: StartFlags): StartOptions => ({
  ...(flags.workspace !== undefined && { workspaceId: flags.workspace }),
  ...(flags.queue !== undefined && { queue: flags.queue }),
  ...(flags.concurrencyKey !== undefined && { concurrencyKey: flags.concurrencyKey }),
  ...(flags.priority !== undefined && { priority: flags.priority }),
  ...(flags.delay !== undefined && { delay: flags.delay }),
  ...(flags.startAt !== undefined && { startAt: flags.startAt }),
  ...(flags.ttl !== undefined && { ttl: flags.ttl }),
  ...(flags.maxDuration !== undefined && { maxDuration: flags.maxDuration }),
  ...(flags.maxAttempts !== undefined && { retry: { maxAttempts: flags.maxAttempts } }),
  ...(flags.metadata !== undefined && { metadata: flags.metadata }),
  ...(flags.tag !== undefined && { tags: flags.tag }),
  ...(flags.deploymentVersion !== undefined && { deploymentVersion: flags.deploymentVersion }),
  ...(flags.idempotencyKey !== undefined && { idempotencyKey: flags.idempotencyKey }),
});
