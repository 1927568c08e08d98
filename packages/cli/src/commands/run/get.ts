import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";

export function addRunGet(parent: Command, cli: Cli): void {
  parent
    .command("get")
    .description("Show a run")
    .argument("<run>", "its id")
    .addHelpText("after", "\nExample:\n  $ keelson run get run_01k… --json | jq .output\n")
    .action(async (id: string) => {
      const run = await cli.client().runs.get(id, { signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(run);
        return;
      }
      printFields(cli, {
        run: run.id,
        task: run.task,
        status: run.status,
        why: run.status_reason?.message,
        attempt: run.attempt_number === null ? null : `${run.attempt_number} of ${run.max_attempts}`,
        failure: run.failure === null ? null : `${run.failure.kind}: ${run.failure.message}`,
        queue: run.queue,
        tags: run.tags.join(", "),
        metadata: Object.keys(run.metadata).length === 0 ? null : run.metadata,
        deployment: run.deployment_version,
        created: run.created_at,
        started: run.started_at,
        finished: run.finished_at,
        payload: run.payload,
        output: run.output,
      });
      if (run.failure?.stack) cli.print(`\n${run.failure.stack}`);
    });
}
