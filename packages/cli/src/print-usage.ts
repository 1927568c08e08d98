import { formatUsd } from "@keelson/contract/plain";
import type { Usage } from "@keelson/sdk";
import type { Cli } from "./cli.ts";
import { printTable } from "./table.ts";

type Sums = Omit<Usage, "models">;

const HEADING = ["MODEL", "CALLS", "INPUT", "CACHED", "OUTPUT", "REASONING", "COST"];

const cellsOf = (name: string, sums: Sums): string[] => [
  name,
  String(sums.calls),
  String(sums.inputTokens),
  String(sums.cachedInputTokens),
  String(sums.outputTokens),
  String(sums.reasoningTokens),
  sums.costUsd === null ? "" : formatUsd(sums.costUsd),
];

/** What calls of models used, a model a line, and their sum where there are several. */
export function printUsage(cli: Cli, usage: Usage): void {
  if (cli.isJson()) return cli.printJson(usage);
  const { models, ...sums } = usage;
  if (models.length === 0) return cli.notice("No calls of models: the code says them with ctx.usage.add().");
  const rows = models.map(({ model, ...own }) => cellsOf(model, own));
  printTable(cli, HEADING, models.length === 1 ? rows : [...rows, cellsOf("(all)", sums)]);
}
