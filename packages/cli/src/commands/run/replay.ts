import { randomUUID } from "node:crypto";
import { isTerminalRunStatus, RUN_STATUSES } from "@keelson/contract/plain";
import type { Client, Run, StartOptions } from "@keelson/sdk";
import type { Command } from "commander";
import { changeRuns } from "../../change-runs.ts";
import type { Cli } from "../../cli.ts";
import { runBulkAction } from "../../run-bulk-action.ts";
import { addRunSelection, type BulkFlags } from "../../select-runs.ts";

const ENDED = RUN_STATUSES.filter((status) => isTerminalRunStatus(status) && status !== "succeeded");

const EXPLANATION = `
A replay is a new run of the current deployment, or of --deployment-version, with the same payload, tags, metadata, queue, priority, concurrency key and
retry policy. A selection by options has the runs that did not succeed, unless --status says otherwise.

Examples:
  $ keelson run replay run_01k…
  $ keelson run replay --task report --status failed --created-after 2026-11-22T00:00:00Z --dry-run
  $ keelson run replay --all-matching --task report --status failed --yes --wait
`;

const optionsOf = (run: Run): StartOptions => ({
  tags: run.tags,
  metadata: run.metadata,
  queue: run.queue,
  priority: run.priority,
  retry: { maxAttempts: run.maxAttempts },
  ...(run.concurrencyKey !== null && { concurrencyKey: run.concurrencyKey }),
  ...(run.workspaceId !== null && { workspaceId: run.workspaceId }),
  // A repeat after a lost answer gives the same run.
  idempotencyKey: randomUUID(),
});

async function replay(
  client: Client,
  run: Run,
  further: { signal: AbortSignal; deploymentVersion?: string },
): Promise<Run> {
  const options = { ...optionsOf(run), ...further };
  if (run.task !== null) return client.tasks.start(run.task, run.payload, options);
  return (await client.actors.start(run.actor ?? "", run.payload, options)).run;
}

export function addRunReplay(parent: Command, cli: Cli): void {
  addRunSelection(
    parent.command("replay").description("Replay runs: start them again with the same input"),
    "replay",
  )
    .addHelpText("after", EXPLANATION)
    .option("--deployment-version <version>", "start the runs in this version, not in the current one")
    .action((ids: string[], flags: BulkFlags) => {
      const command = { verb: "Replay", statuses: ENDED } as const;
      if (flags.allMatching === true) return runBulkAction(cli, ids, flags, { ...command, action: "replay" });
      const { deploymentVersion } = flags;
      return changeRuns(cli, ids, flags, {
        ...command,
        apply: (client, run) =>
          replay(client, run, {
            signal: cli.host.signal,
            ...(deploymentVersion !== undefined && { deploymentVersion }),
          }),
        describe: ({ id }) => id,
      });
    });
}
