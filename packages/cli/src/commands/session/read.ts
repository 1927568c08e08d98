import type { StreamRecord } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import { parseMillisecondsOption } from "../../parse-arguments.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";

type Options = SessionFlags & {
  stream?: string;
  input?: boolean;
  follow?: boolean;
  cursor?: string;
  correlationId?: string;
  timeout?: number;
};

const EXAMPLES = `
Examples:
  $ keelson session read sess_01k… --follow
  $ keelson session read -x ticket-17 --correlation-id q-1 --json | jq .data
  $ keelson session read sess_01k… --input --cursor 12
`;

/** One record a line: its data, texts as they are; all of it with --json. Waits for a slow reader. */
async function writeRecord(cli: Cli, record: StreamRecord): Promise<void> {
  const { stdout } = cli.host;
  const value = cli.isJson() ? record : record.data;
  const line = typeof value === "string" ? value : cli.wire.text(value);
  if (!stdout.write(`${line}\n`)) await new Promise((resolve) => stdout.once("drain", resolve));
}

async function readSession(cli: Cli, id: string, options: Options): Promise<void> {
  const { input = false, follow = false, cursor, correlationId, timeout } = options;
  const session = await openSession(cli, id, options);
  const limit = timeout === undefined ? null : AbortSignal.timeout(timeout);
  const signal = limit === null ? cli.host.signal : AbortSignal.any([cli.host.signal, limit]);
  const read = {
    follow,
    signal,
    onGap: () => cli.notice("(older records are no longer kept)"),
    ...(cursor !== undefined && { cursor }),
    ...(correlationId !== undefined && { correlationId }),
  };
  try {
    const records = input ? session.input(options.stream, read) : session.output(options.stream, read);
    for await (const record of records) await writeRecord(cli, record);
  } catch (error) {
    if (limit?.aborted !== true) throw error;
    throw new ExitError(EXIT.timeout, `Session ${id} has not ended within ${timeout} ms`, { cause: error });
  }
}

export function addSessionRead(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent.command("read").description("Print the records of a session's stream, oldest first"),
  )
    .option("--stream <name>", "another stream than output (or, with --input, than input)")
    .option("--input", "an input stream")
    .option("-f, --follow", "follow until the session has ended")
    .option("--cursor <sequence>", "only what comes after this record")
    .option("--correlation-id <id>", "only the records of this exchange")
    .option("--timeout <duration>", "give up after this time with exit code 124", parseMillisecondsOption)
    .addHelpText("after", EXAMPLES)
    .action((id: string, options: Options) => readSession(cli, id, options));
}
