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
      const run = await (await cli.client()).runs.get(id, { signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(run);
        return;
      }
      printFields(cli, {
        run: run.id,
        task: run.task,
        status: run.status,
        why: run.statusReason?.message,
        attempt: run.attemptNumber === null ? null : `${run.attemptNumber} of ${run.maxAttempts}`,
        failure: run.failure === null ? null : `${run.failure.kind}: ${run.failure.message}`,
        queue: run.queue,
        tags: run.tags.join(", "),
        metadata: Object.keys(run.metadata).length === 0 ? null : run.metadata,
        deployment: run.deploymentVersion,
        created: run.createdAt,
        started: run.startedAt,
        finished: run.finishedAt,
        payload: run.payload,
        output: run.output,
      });
      if (run.failure?.stack) cli.print(`\n${run.failure.stack}`);
    });
}
