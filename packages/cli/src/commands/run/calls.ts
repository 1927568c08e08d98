import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { describeCall } from "../../table.ts";

export function addRunCalls(parent: Command, cli: Cli): void {
  parent
    .command("calls")
    .description("Print the durable calls of a run, with what its code got")
    .argument("<run>", "its id")
    .option("--position <n>", "only this call, 1 for the first", parseIntegerOption(1, 2_147_483_647))
    .addHelpText("after", "\nExample:\n  $ keelson run calls run_01k… --json\n")
    .action(async (id: string, query: { position?: number }) => {
      const { signal } = cli.host;
      for await (const call of (await cli.client()).runs.calls(id, query, { signal })) {
        if (cli.isJson()) cli.printJson(call);
        else cli.print(describeCall(call));
      }
    });
}
