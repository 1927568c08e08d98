import type { Worker } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { listAll } from "../../list-all.ts";
import { printTable, statusCell } from "../../table.ts";

export function addWorkerList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List the workers of the installation")
    .option("--status <status>", "registered, active, draining, drained or lost")
    .option("--group <id>", "only of this worker group")
    .addHelpText("after", "\nExample:\n  $ keelson worker list --status active\n")
    .action(async ({ status, group }: { status?: string; group?: string }) => {
      const query = { status, worker_group_id: group };
      const path = "/admin/api/v1/workers";
      const workers = await listAll<Worker>(cli.admin().client, path, "workers", query, cli.host.signal);
      if (cli.isJson()) cli.printJson({ workers, next_cursor: null });
      else if (workers.length === 0) cli.notice("No workers.");
      else {
        const rows = workers.map((worker) => [
          worker.id,
          worker.name,
          statusCell(worker.status),
          `${worker.in_use.executions}/${worker.capacity.executions}`,
          worker.last_seen_at ?? "never",
        ]);
        printTable(cli, ["WORKER", "NAME", "STATUS", "RUNS", "LAST SEEN"], rows);
      }
    });
}
