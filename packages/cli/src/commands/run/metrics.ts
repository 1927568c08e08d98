import type { EntrypointMetricsList, RunMetrics } from "@keelson/sdk";
import {
  RUN_METRICS_WINDOW_DEFAULT,
  RUN_METRICS_WINDOWS,
  type RunMetricsWindow,
} from "@keelson/contract/plain";
import type { Command } from "commander";
import { Option } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields, printTable, timeCell } from "../../table.ts";

type Options = { window: RunMetricsWindow; task?: string; actor?: string };

/** The newest of a series; a terminal shows them without scrolling. */
const SHOWN_BUCKETS = 20;

export function addRunMetrics(parent: Command, cli: Cli): void {
  parent
    .command("metrics")
    .description("Show how many runs ended, how many failed, and how long they took")
    .addOption(
      new Option("--window <window>", "how far back")
        .choices(RUN_METRICS_WINDOWS)
        .default(RUN_METRICS_WINDOW_DEFAULT),
    )
    .addOption(new Option("--task <id>", "over time, only runs of this task").conflicts("actor"))
    .option("--actor <id>", "over time, only runs of this actor")
    .addHelpText(
      "after",
      "\nExample:\n  $ keelson run metrics --window 7d\n  $ keelson run metrics --task report\n",
    )
    .action(async ({ window, ...of }: Options) => {
      const { runs } = await cli.client();
      const request = { signal: cli.host.signal };
      const metrics = await runs.metrics({ window, ...of }, request);
      const isOne = of.task !== undefined || of.actor !== undefined;
      const list = isOne ? null : await runs.entrypointMetrics({ window }, request);
      if (cli.isJson()) {
        cli.printJson(list === null ? metrics : { ...metrics, entrypoints: list.entrypoints });
        return;
      }
      printTotal(cli, metrics);
      if (list === null) printBuckets(cli, metrics);
      else printEntrypoints(cli, list);
      if (!metrics.historyComplete) cli.notice("Runs that ended before the upgrade are still being counted.");
    });
}

const percentOf = (rate: number | null): string => (rate === null ? "–" : `${(rate * 100).toFixed(1)} %`);

/** Three digits, and the largest unit that has a whole one. */
function durationOf(ms: number | undefined): string {
  if (ms === undefined) return "–";
  if (ms < 1_000) return `${ms} ms`;
  const [unit, size] = (
    [
      ["h", 3_600_000],
      ["min", 60_000],
    ] as const
  ).find(([, least]) => ms >= least) ?? ["s", 1_000];
  return `${(ms / size).toPrecision(3)} ${unit}`;
}

type Percentiles = RunMetrics["total"]["durationMs"];
const percentiles = (found: Percentiles): string | null =>
  found === null
    ? null
    : `p50 ${durationOf(found.p50)}, p95 ${durationOf(found.p95)}, p99 ${durationOf(found.p99)}`;

function printTotal(cli: Cli, { total, gauges, since }: RunMetrics): void {
  const now = gauges?.at(-1);
  printFields(cli, {
    since,
    ended: `${total.ended} (${total.succeeded} succeeded, ${total.cancelled} cancelled)`,
    "failure rate": percentOf(total.failureRate),
    "queue time": percentiles(total.queueTimeMs),
    duration: percentiles(total.durationMs),
    queued: now === undefined ? null : String(now.queued.last),
    slots: now?.workerSlots ? `${now.usedWorkerSlots.last} of ${now.workerSlots.last} used` : null,
  });
}

function printEntrypoints(cli: Cli, { entrypoints }: EntrypointMetricsList): void {
  if (entrypoints.length === 0) {
    cli.notice("The current deployment declares no tasks and no actors.");
    return;
  }
  const rows = entrypoints.map((one) => [
    one.task ?? one.actor ?? "",
    String(one.ended),
    percentOf(one.failureRate),
    durationOf(one.queueTimeMs?.p95),
    durationOf(one.durationMs?.p50),
    durationOf(one.durationMs?.p95),
    timeCell(cli, one.lastRun?.createdAt ?? null, "–"),
  ]);
  cli.print("");
  printTable(cli, ["TASK OR ACTOR", "ENDED", "FAILED", "QUEUED P95", "P50", "P95", "LAST RUN"], rows);
}

function printBuckets(cli: Cli, { buckets }: RunMetrics): void {
  const busy = buckets.filter(({ ended }) => ended > 0).slice(-SHOWN_BUCKETS);
  if (busy.length === 0) {
    cli.notice("No run ended in this time.");
    return;
  }
  const rows = busy.map((bucket) => [
    bucket.at,
    String(bucket.ended),
    percentOf(bucket.failureRate),
    durationOf(bucket.queueTimeMs?.p95),
    durationOf(bucket.durationMs?.p50),
    durationOf(bucket.durationMs?.p95),
  ]);
  cli.print("");
  printTable(cli, ["SINCE", "ENDED", "FAILED", "QUEUED P95", "P50", "P95"], rows);
}
