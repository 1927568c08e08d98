import type { Command } from "commander";
import type { TaskResource } from "@keelson/sdk";
import type { Cli } from "../../cli.ts";
import { printTable } from "../../table.ts";

export function addTaskList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List the tasks of the current deployment")
    .addHelpText("after", "\nExample:\n  $ keelson task list --json | jq -r '.tasks[].declared_id'\n")
    .action(async () => {
      const tasks: TaskResource[] = [];
      for await (const task of (await cli.client()).tasks.list({ limit: 200 }, { signal: cli.host.signal }))
        tasks.push(task);
      if (cli.isJson()) cli.printJson({ tasks, next_cursor: null });
      else if (tasks.length === 0)
        cli.notice(
          "No tasks in the current deployment. Declare one with `task()`, then run `keelson deploy`.",
        );
      else
        printTable(
          cli,
          ["TASK", "QUEUE", "DESCRIPTION"],
          tasks.map((task) => [task.declaredId, task.queue ?? "", task.description ?? ""]),
        );
    });
}
