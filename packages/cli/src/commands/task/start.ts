import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { followAndReport, type WaitFlags } from "../../follow-run.ts";
import { readJson } from "../../read-json.ts";
import { addStartOptions, addWaitOptions, toStartOptions, type StartFlags } from "../../start-options.ts";

type Options = StartFlags & WaitFlags & { payload?: string; payloadFile?: string };

const EXAMPLES = `
Examples:
  $ keelson task start repository-report --payload '{"path": "."}' --follow
  $ keelson task start import --payload-file order.json --idempotency-key order-17
  $ echo '[1, 2, 3]' | keelson task start sum - --wait
`;

export function addTaskStart(parent: Command, cli: Cli): void {
  const command = parent
    .command("start")
    .description("Start a run of a task")
    .argument("<task>", "the task's id, as declared")
    .argument("[source]", "- reads the payload from standard input")
    .option("-p, --payload <json>", "the payload")
    .option("--payload-file <file>", "a file with the payload; - is standard input");
  addStartOptions(addWaitOptions(command), "run")
    .addHelpText("after", EXAMPLES)
    .action(async (task: string, argument: string | undefined, options: Options) => {
      const payload = await readJson(cli, {
        name: "payload",
        fileOption: "payload-file",
        argument,
        json: options.payload,
        file: options.payloadFile,
      });
      const run = await (
        await cli.client()
      ).tasks.start(task, payload, { ...toStartOptions(options), signal: cli.host.signal });
      if (options.wait === true || options.follow === true) {
        cli.notice(`Started ${run.id}`);
        await followAndReport(cli, run.id, options);
      } else if (cli.isJson()) cli.printJson(run);
      else cli.print(run.id);
    });
}
