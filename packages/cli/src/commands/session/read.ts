import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import { parseMillisecondsOption } from "../../parse-arguments.ts";
import { createRecordWriter } from "../../record-writer.ts";
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

async function readSession(cli: Cli, id: string, options: Options): Promise<void> {
  const { input = false, follow = false, cursor, correlationId, timeout } = options;
  const session = await openSession(cli, id, options);
  const limit = timeout === undefined ? null : AbortSignal.timeout(timeout);
  const signal = limit === null ? cli.host.signal : AbortSignal.any([cli.host.signal, limit]);
  const read = {
    follow,
    signal,
    messageEnds: true,
    onGap: () => cli.notice("(older records are no longer kept)"),
    ...(cursor !== undefined && { cursor }),
    ...(correlationId !== undefined && { correlationId }),
  };
  const writer = createRecordWriter(cli);
  try {
    const records = input ? session.input(options.stream, read) : session.output(options.stream, read);
    for await (const record of records) await writer.write(record);
  } catch (error) {
    if (limit?.aborted !== true) throw error;
    throw new ExitError(EXIT.timeout, `Session ${id} has not ended within ${timeout} ms`, { cause: error });
  } finally {
    await writer.end();
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
