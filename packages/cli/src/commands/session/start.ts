import type { NewSession } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { followAndReport, type WaitFlags } from "../../follow-run.ts";
import { readJson } from "../../read-json.ts";
import { addStartOptions, addWaitOptions, toStartOptions, type StartFlags } from "../../start-options.ts";

type Options = StartFlags &
  WaitFlags & {
    task?: string;
    actor?: string;
    payload?: string;
    input?: string;
    inputFile?: string;
    externalId?: string;
    expiresAt?: string;
  };

const EXAMPLES = `
Examples:
  $ keelson session start --actor chat --input '"Hello"' --external-id ticket-17
  $ keelson session start --task review --payload '{"path": "."}' --wait
`;

function entrypoint({ task, actor }: Options): { task: string } | { actor: string } {
  if (task !== undefined && actor === undefined) return { task };
  if (actor !== undefined && task === undefined) return { actor };
  throw usageError("Say what the session runs: either --task or --actor");
}

async function toSession(cli: Cli, argument: string | undefined, options: Options): Promise<NewSession> {
  const { externalId, expiresAt } = options;
  const payload = await readJson(cli, {
    name: "payload",
    fileOption: "payload",
    argument: undefined,
    json: options.payload,
    file: undefined,
  });
  const input = await readJson(cli, {
    name: "input",
    fileOption: "input-file",
    argument,
    json: options.input,
    file: options.inputFile,
  });
  return {
    ...entrypoint(options),
    ...toStartOptions(options),
    ...(payload !== undefined && { payload }),
    ...(input !== undefined && { input }),
    ...(externalId !== undefined && { externalId }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

export function addSessionStart(parent: Command, cli: Cli): void {
  const command = parent
    .command("start")
    .description("Create a session and start its first run, or return the open session with that external id")
    .argument("[source]", "- reads the input from standard input")
    .option("--task <id>", "the task it runs")
    .option("--actor <id>", "the actor it runs")
    .option("-p, --payload <json>", "the payload of the first run; - is standard input")
    .option("-i, --input <json>", "the first record of stream input")
    .option("--input-file <file>", "a file with that record; - is standard input")
    .option("--external-id <id>", "your own id, unique among open sessions")
    .option("--expires-at <time>", "when it ends on its own (RFC 3339)");
  addStartOptions(addWaitOptions(command), "session")
    .addHelpText("after", EXAMPLES)
    .action(async (argument: string | undefined, options: Options) => {
      const { signal } = cli.host;
      const session = await (
        await cli.client()
      ).sessions.create(await toSession(cli, argument, options), { signal });
      if (options.wait === true || options.follow === true) {
        cli.notice(`Started ${session.id}, ${session.currentRunId}`);
        await followAndReport(cli, session.currentRunId, options);
      } else if (cli.isJson()) cli.printJson(session);
      else cli.print(session.id);
    });
}
