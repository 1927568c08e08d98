import { randomUUID } from "node:crypto";
import { isTerminalRunStatus, RUN_STATUSES } from "@keelson/contract/plain";
import type { Client, Run, StartOptions } from "@keelson/sdk";
import type { Command } from "commander";
import { changeRuns } from "../../change-runs.ts";
import type { Cli } from "../../cli.ts";
import { addRunSelection, type BulkFlags } from "../../select-runs.ts";

const ENDED = RUN_STATUSES.filter((status) => isTerminalRunStatus(status) && status !== "succeeded");

const EXPLANATION = `
A replay is a new run of the current deployment with the same payload, tags, metadata, queue, priority, concurrency key and
retry policy. A selection by options has the runs that did not succeed, unless --status says otherwise.

Examples:
  $ keelson run replay run_01k…
  $ keelson run replay --task report --status failed --created-after 2026-11-22T00:00:00Z --dry-run
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

async function replay(client: Client, run: Run, signal: AbortSignal): Promise<Run> {
  const options = { ...optionsOf(run), signal };
  if (run.task !== null) return client.tasks.start(run.task, run.payload, options);
  return (await client.actors.start(run.actor ?? "", run.payload, options)).run;
}

export function addRunReplay(parent: Command, cli: Cli): void {
  addRunSelection(
    parent.command("replay").description("Replay runs: start them again with the same input"),
    "replay",
  )
    .addHelpText("after", EXPLANATION)
    .action((ids: string[], flags: BulkFlags) =>
      changeRuns(cli, ids, flags, {
        verb: "Replay",
        statuses: ENDED,
        apply: (client, run) => replay(client, run, cli.host.signal),
        describe: ({ id }) => id,
      }),
    );
}
