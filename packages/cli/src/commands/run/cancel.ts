import { isTerminalRunStatus, RUN_STATUSES } from "@keelson/contract/plain";
import type { Command } from "commander";
import { changeRuns } from "../../change-runs.ts";
import type { Cli } from "../../cli.ts";
import { addRunSelection, type BulkFlags } from "../../select-runs.ts";
import { describeRun } from "../../table.ts";

const LIVE = RUN_STATUSES.filter((status) => !isTerminalRunStatus(status));

export function addRunCancel(parent: Command, cli: Cli): void {
  addRunSelection(
    parent.command("cancel").description("Cancel runs; their processes are killed after 10 s"),
    "cancel",
  )
    .addHelpText(
      "after",
      "\nExamples:\n  $ keelson run cancel run_01k…\n  $ keelson run cancel --task report --status queued --dry-run\n",
    )
    .action((ids: string[], flags: BulkFlags) =>
      changeRuns(cli, ids, flags, {
        verb: "Cancel",
        statuses: LIVE,
        apply: (client, { id }) => client.runs.cancel(id, { signal: cli.host.signal }),
        describe: describeRun,
      }),
    );
}
