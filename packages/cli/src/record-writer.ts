import { isChatChunk, readChatQuestion } from "@keelson/contract/chat";
import { MESSAGE_CONTENT_TYPE, type MessageNews } from "@keelson/contract/plain";
import type { StreamRecord } from "@keelson/sdk";
import { createChatLines, type Printed } from "./chat-lines.ts";
import type { Cli } from "./cli.ts";

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

export type RecordWriter = { write(record: StreamRecord): Promise<void>; end(): Promise<void> };

/**
 * One record a line: its data, texts as they are; all of it with --json. Texts that are pieces of one message share a line, and
 * chats of the AI SDK are printed as what is said in them. Waits for a slow reader.
 */
export function createRecordWriter(cli: Cli): RecordWriter {
  const { stdout } = cli.host;
  const chat = createChatLines((value) => cli.wire.text(value));
  /** The message whose line has not ended. */
  let open: string | null = null;
  const print = async (text: string): Promise<void> => {
    if (text !== "" && !stdout.write(text)) await new Promise((resolve) => stdout.once("drain", resolve));
  };
  const endLine = async (): Promise<void> => {
    if (open !== null) await print("\n");
    open = null;
  };
  const say = async ({ kind, text }: Printed, messageId: string | null): Promise<void> => {
    if (kind === "text" && messageId !== null) {
      if (open !== messageId) await endLine();
      open = messageId;
      return print(text);
    }
    await endLine();
    if (kind === "notice") cli.notice(text);
    else if (kind !== "end") await print(`${text}\n`);
  };
  const read = ({ data, messageId }: StreamRecord): Printed[] => {
    if (messageId !== null && isChatChunk(data)) return chat.read(data);
    const question = readChatQuestion(data);
    if (question !== null) return chat.readQuestion(question);
    const text = typeof data === "string" ? data : cli.wire.text(data);
    return [{ kind: typeof data === "string" ? "text" : "line", text }];
  };
  return {
    write: async (record) => {
      if (cli.isJson()) return print(`${cli.wire.text(record)}\n`);
      const { contentType, data, messageId, withdrawnAt, sequence } = record;
      if (contentType === MESSAGE_CONTENT_TYPE) {
        const notice = noticeOf(data as MessageNews);
        if (notice === null) return;
        if (open === messageId) await endLine();
        if (notice !== "") cli.notice(notice);
        return;
      }
      if (withdrawnAt !== undefined) return cli.notice(`(record ${sequence} was withdrawn)`);
      for (const printed of read(record)) await say(printed, messageId);
    },
    end: endLine,
  };
}
