import type { Run } from "@keelson/sdk";
import type { Cli } from "./cli.ts";
import { printTable, statusCell, timeCell } from "./table.ts";

export const printRuns = (cli: Cli, runs: readonly Run[]): void =>
  printTable(
    cli,
    ["RUN", "TASK", "STATUS", "ATTEMPT", "CREATED"],
    runs.map((run) => [
      run.id,
      run.task ?? run.actor ?? "",
      statusCell(run.status),
      run.attemptNumber === null ? "" : `${run.attemptNumber}/${run.maxAttempts}`,
      timeCell(cli, run.createdAt),
    ]),
  );
