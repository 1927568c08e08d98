import { MESSAGE_CONTENT_TYPE, type MessageNews } from "@keelson/contract/plain";
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

const ENDS = { failed: "failed", interrupted: "was interrupted" } as const;

/** What is said of a message besides its pieces; null when it goes on, empty when it has ended as it was to. */
function noticeOf(news: MessageNews): string | null {
  switch (news.event) {
    case "voided":
      return "(the message is written again from an earlier place)";
    case "ended":
      return news.status === "complete" ? "" : `(the message ${ENDS[news.status]})`;
    default:
      return null;
  }
}

type RecordWriter = { write(record: StreamRecord): Promise<void>; end(): Promise<void> };

/**
 * One record a line: its data, texts as they are; all of it with --json. Texts that are pieces of one message share a line.
 * Waits for a slow reader.
 */
function createRecordWriter(cli: Cli): RecordWriter {
  const { stdout } = cli.host;
  /** The message whose line has not ended. */
  let open: string | null = null;
  const print = async (text: string): Promise<void> => {
    if (text !== "" && !stdout.write(text)) await new Promise((resolve) => stdout.once("drain", resolve));
  };
  return {
    write: async (record) => {
      const before = open;
      if (cli.isJson()) return print(`${cli.wire.text(record)}\n`);
      if (record.contentType === MESSAGE_CONTENT_TYPE) {
        const notice = noticeOf(record.data as MessageNews);
        if (notice === null) return;
        if (before === record.messageId) open = null;
        await print(before === record.messageId ? "\n" : "");
        if (notice !== "") cli.notice(notice);
        return;
      }
      if (record.withdrawnAt !== undefined) {
        cli.notice(`(record ${record.sequence} was withdrawn)`);
        return;
      }
      const isText = typeof record.data === "string";
      const text = typeof record.data === "string" ? record.data : cli.wire.text(record.data);
      open = isText ? record.messageId : null;
      await print(`${before !== null && before !== open ? "\n" : ""}${text}${open === null ? "\n" : ""}`);
    },
    end: () => print(open === null ? "" : "\n"),
  };
}

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
