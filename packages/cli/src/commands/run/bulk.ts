import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { finishBulkAction, printBulkAction } from "../../run-bulk-action.ts";

/** Bulk actions after their start, which is `run cancel` or `run replay` with `--all-matching`. */
export function addRunBulk(parent: Command, cli: Cli): void {
  const bulk = parent.command("bulk").description("Bulk actions: cancellations and replays of many runs");
  bulk
    .command("list")
    .description("List bulk actions, newest first")
    .addHelpText("after", "\nExample:\n  $ keelson run bulk list\n")
    .action(async () => {
      const client = await cli.client();
      const { items } = await client.runs.bulkActions.list({ limit: 50 }, { signal: cli.host.signal }).page();
      if (cli.isJson()) cli.printJson({ bulk_actions: items });
      else if (items.length === 0) cli.notice("No bulk actions");
      else
        for (const { id, action, status, matched, failed } of items)
          cli.print(`${id}  ${action}  ${status}  ${matched} matched, ${failed} failed`);
    });
  bulk
    .command("get")
    .description("Show a bulk action")
    .argument("<bulk-action>", "its id")
    .option("--wait", "wait until it has ended; exit code 1 when a run failed")
    .option("--items", "show what was done with each run")
    .addHelpText("after", "\nExample:\n  $ keelson run bulk get bulk_01k… --items\n")
    .action(async (id: string, { wait = false, items = false }: { wait?: boolean; items?: boolean }) => {
      const { signal } = cli.host;
      const client = await cli.client();
      if (wait) await finishBulkAction(cli, client, id);
      else if (!items) printBulkAction(cli, await client.runs.bulkActions.get(id, { signal }));
      if (!items) return;
      for await (const item of client.runs.bulkActions.items(id, { limit: 200 }, { signal })) {
        if (cli.isJson()) cli.printJson(item);
        else
          cli.print(
            [item.runId, item.outcome, item.newRunId ?? item.error?.message ?? ""].join("  ").trimEnd(),
          );
      }
    });
  bulk
    .command("cancel")
    .description("Stop a bulk action; what was done stays done")
    .argument("<bulk-action>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson run bulk cancel bulk_01k…\n")
    .action(async (id: string) => {
      const client = await cli.client();
      printBulkAction(cli, await client.runs.bulkActions.cancel(id, { signal: cli.host.signal }));
    });
}
