import { isTerminalRunStatus, RUN_STATUSES } from "@keelson/contract/plain";
import type { Command } from "commander";
import { changeRuns } from "../../change-runs.ts";
import type { Cli } from "../../cli.ts";
import { addRunSelection, type BulkFlags } from "../../select-runs.ts";
import { runBulkAction } from "../../run-bulk-action.ts";
import { describeRun } from "../../table.ts";

const LIVE = RUN_STATUSES.filter((status) => !isTerminalRunStatus(status));

export function addRunCancel(parent: Command, cli: Cli): void {
  addRunSelection(
    parent.command("cancel").description("Cancel runs; their processes are killed after 10 s"),
    "cancel",
  )
    .addHelpText(
      "after",
      "\nExamples:\n  $ keelson run cancel run_01k…\n  $ keelson run cancel --task report --status queued --dry-run\n  $ keelson run cancel --all-matching --tag weekly --yes --wait\n",
    )
    .action((ids: string[], flags: BulkFlags) => {
      const command = { verb: "Cancel", statuses: LIVE } as const;
      if (flags.allMatching === true) return runBulkAction(cli, ids, flags, { ...command, action: "cancel" });
      return changeRuns(cli, ids, flags, {
        ...command,
        apply: (client, { id }) => client.runs.cancel(id, { signal: cli.host.signal }),
        describe: describeRun,
      });
    });
}
