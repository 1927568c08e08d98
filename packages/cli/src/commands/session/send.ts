import { WHILE_BUSY, type WhileBusy } from "@keelson/contract/plain";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { readJson } from "../../read-json.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";

type Options = SessionFlags & {
  data?: string;
  text?: string;
  file?: string;
  stream?: string;
  correlationId?: string;
  contentType?: string;
  idempotencyKey?: string;
  whileBusy?: WhileBusy;
};

const EXAMPLES = `
Examples:
  $ keelson session send sess_01k… --text 'Hello'
  $ keelson session send -x ticket-17 --data '{"text": "Hello"}' --correlation-id q-1
  $ jq -c .message mail.json | keelson session send sess_01k… --file -
`;

async function readData(cli: Cli, argument: string | undefined, options: Options): Promise<unknown> {
  const { text, data, file } = options;
  if (text !== undefined && (argument ?? data ?? file) !== undefined)
    throw usageError("Give the record once: by --text, or as JSON");
  if (text !== undefined) return text;
  const json = await readJson(cli, { name: "data", fileOption: "file", argument, json: data, file });
  if (json === undefined)
    throw usageError("Nothing to send: give --text, --data, --file, or - for standard input");
  return json;
}

export function addSessionSend(parent: Command, cli: Cli): void {
  addSessionArgument(parent.command("send").description("Append a record to an input stream of a session"))
    .argument("[source]", "- reads the record's JSON from standard input")
    .option("-d, --data <json>", "the record's data")
    .option("-t, --text <text>", "the record's data, a text as it is")
    .option("--file <file>", "a file with the data's JSON; - is standard input")
    .option("--stream <name>", "another input stream than input")
    .option("--correlation-id <id>", "ties the records of one exchange together")
    .option("--content-type <type>", "says how the data is meant")
    .option("--idempotency-key <key>", "a repeat with this key returns the same record")
    .addOption(
      new Option("--while-busy <what>", "when a turn is live and no run waits for input").choices(WHILE_BUSY),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, argument: string | undefined, options: Options) => {
      const { stream, correlationId, contentType, idempotencyKey, whileBusy } = options;
      const record = await (
        await openSession(cli, id, options)
      ).send(await readData(cli, argument, options), {
        signal: cli.host.signal,
        ...(stream !== undefined && { stream }),
        ...(correlationId !== undefined && { correlationId }),
        ...(contentType !== undefined && { contentType }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ...(whileBusy !== undefined && { whileBusy }),
      });
      if (cli.isJson()) cli.printJson(record);
      else cli.print(`${record.sequence}`);
    });
}
