import type { StartActorOptions } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { readJson } from "../../read-json.ts";
import { addStartOptions, toStartOptions, type StartFlags } from "../../start-options.ts";

type Options = StartFlags & {
  input?: string;
  inputFile?: string;
  externalId?: string;
  expiresAt?: string;
};

const EXAMPLES = `
Examples:
  $ keelson actor start chat --input '"Hello"' --external-id ticket-17
  $ echo '{"text": "Hello"}' | keelson actor start chat -
`;

/** Without a session field the server makes a session of its own accord; an empty one would say the same. */
function toOptions(cli: Cli, options: Options): StartActorOptions {
  const { externalId, expiresAt } = options;
  const session = {
    ...(externalId !== undefined && { externalId }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
  return {
    ...toStartOptions(options),
    ...(Object.keys(session).length > 0 && { session }),
    signal: cli.host.signal,
  };
}

export function addActorStart(parent: Command, cli: Cli): void {
  const command = parent
    .command("start")
    .description("Create a session of an actor and start its first run")
    .argument("<actor>", "the actor's id, as declared")
    .argument("[source]", "- reads the input from standard input")
    .option("-i, --input <json>", "the first record of stream input")
    .option("--input-file <file>", "a file with that record; - is standard input")
    .option("--external-id <id>", "your own id of the session, unique among open sessions")
    .option("--expires-at <time>", "when the session ends on its own (RFC 3339)");
  addStartOptions(command, "first run")
    .addHelpText("after", EXAMPLES)
    .action(async (actor: string, argument: string | undefined, options: Options) => {
      const input = await readJson(cli, {
        name: "input",
        fileOption: "input-file",
        argument,
        json: options.input,
        file: options.inputFile,
      });
      const started = await (await cli.client()).actors.start(actor, input, toOptions(cli, options));
      if (cli.isJson()) {
        cli.printJson(started);
        return;
      }
      cli.notice(`Started ${started.run.id}`);
      cli.print(started.session.id);
    });
}
