import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { listAll, WHOLE } from "../../list-all.ts";
import { printTable, statusCell, timeCell } from "../../table.ts";

export function addWorkerList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List the workers of the installation")
    .option("--status <status>", "registered, active, draining, drained or lost")
    .option("--group <id>", "only of this worker group")
    .addHelpText("after", "\nExample:\n  $ keelson worker list --status active\n")
    .action(async ({ status, group }: { status?: string; group?: string }) => {
      const query = { ...WHOLE, status, workerGroupId: group };
      const workers = await listAll(cli.admin().workers.list(query, { signal: cli.host.signal }));
      if (cli.isJson()) cli.printJson({ workers, next_cursor: null });
      else if (workers.length === 0)
        cli.notice(
          describeEmpty(
            "workers",
            query,
            "Start the first one: `keelson up`, or `keelson agent` on another machine.",
          ),
        );
      else {
        const rows = workers.map((worker) => [
          worker.id,
          worker.name,
          statusCell(worker.status),
          `${worker.inUse.executions}/${worker.capacity.executions}`,
          worker.isolation ?? "–",
          timeCell(cli, worker.lastSeenAt, "never"),
        ]);
        printTable(cli, ["WORKER", "NAME", "STATUS", "RUNS", "ISOLATION", "LAST SEEN"], rows);
        for (const { name, isolationProblem: problem } of workers)
          if (problem !== null) cli.notice(`Worker ${name} has no namespace isolation. ${problem}`);
        for (const { name, isolationProblem: same, taskIsolationProblem: problem } of workers)
          if (problem !== null && problem !== same)
            cli.notice(`Worker ${name} runs no tasks with namespace isolation. ${problem}`);
      }
    });
}
