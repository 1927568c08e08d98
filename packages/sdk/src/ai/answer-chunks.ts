import type { UIMessageChunk } from "ai";
import { MESSAGE_CONTENT_TYPE, type MessageEnd, type MessageNews } from "@keelson/contract/plain";
import type { RecordOf } from "../client/record-appends.ts";
import { stoppedCall, type AnswerMetadata } from "./chat-history.ts";

const SESSION_ENDED = "The conversation has ended.";
const LOST = "The answer was lost. Please try again.";

/**
 * The chunks of one answer, from its start to its finish, from the records of its exchange. Where another try of the model writes again, what
 * the page has of the try before it is taken back.
 *
 * @param began told the id of the message when it begins
 */
export async function* answerChunks(
  records: AsyncIterable<RecordOf<unknown>>,
  began: (messageId: string) => void,
): AsyncGenerator<UIMessageChunk> {
  const answer = new AnswerReader();
  for await (const record of records) {
    if (answer.id === null) {
      if (!beginsAnswer(record)) continue;
      answer.id = record.messageId as string;
      began(answer.id);
      yield { type: "start", messageId: answer.id };
    } else if (record.messageId === answer.id) yield* answer.read(record);
    if (answer.isOver) return;
  }
  yield { type: "error", errorText: SESSION_ENDED };
}

type Read = Pick<RecordOf<unknown>, "messageId" | "contentType" | "data" | "sequence">;

/** A message of a person is written at once, and so never says that it starts. */
export const beginsAnswer = ({ contentType, data }: Read): boolean =>
  contentType === MESSAGE_CONTENT_TYPE && (data as MessageNews).event === "started";

const BEGINS_CALL: ReadonlySet<UIMessageChunk["type"]> = new Set([
  "tool-input-start",
  "tool-input-available",
]);
const ENDS_CALL: ReadonlySet<UIMessageChunk["type"]> = new Set([
  "tool-input-error",
  "tool-output-error",
  "tool-output-denied",
  "tool-output-available",
]);

class AnswerReader {
  id: string | null = null;
  isOver = false;
  /** Where the last call of the model begins that the page has. */
  #stepAt = 0;
  #isTakenBack = false;
  #errorText: string | null = null;
  /** Calls of tools that are under way, and where each began. */
  readonly #calls = new Map<string, number>();

  read({ contentType, data, sequence }: Read): UIMessageChunk[] {
    if (contentType !== MESSAGE_CONTENT_TYPE) return this.#take(data as UIMessageChunk, sequence);
    const news = data as MessageNews;
    if (news.event === "ended") return this.#end(news.status);
    if (news.event !== "voided") return [];
    const { from_sequence: from, to_sequence: to } = news;
    if (this.#stepAt < from || this.#stepAt > (to ?? sequence)) return [];
    this.#isTakenBack = true;
    for (const [id, at] of this.#calls) if (at > this.#stepAt) this.#calls.delete(id);
    return [{ type: "reset-step" }];
  }

  #take(chunk: UIMessageChunk, sequence: number): UIMessageChunk[] {
    if (chunk.type === "error") {
      this.#errorText = chunk.errorText;
      return [];
    }
    this.#follow(chunk, sequence);
    if (chunk.type !== "start-step") return [chunk];
    this.#stepAt = sequence;
    // What was taken back has left the beginning of its step.
    const isThere = this.#isTakenBack;
    this.#isTakenBack = false;
    return isThere ? [] : [chunk];
  }

  #follow(chunk: UIMessageChunk, sequence: number): void {
    if (BEGINS_CALL.has(chunk.type)) this.#calls.set((chunk as { toolCallId: string }).toolCallId, sequence);
    else if (ENDS_CALL.has(chunk.type) && !(chunk as { preliminary?: boolean }).preliminary)
      this.#calls.delete((chunk as { toolCallId: string }).toolCallId);
  }

  #end(status: MessageEnd): UIMessageChunk[] {
    this.isOver = true;
    if (status === "complete") return [{ type: "finish" }];
    const messageMetadata: AnswerMetadata = { status };
    const stopped = [...this.#calls.keys()].map(stoppedCall);
    if (status === "interrupted")
      return [...stopped, { type: "finish", finishReason: "interrupted", messageMetadata }];
    // A page that is told of an error reads nothing after it.
    return [
      ...stopped,
      { type: "message-metadata", messageMetadata },
      { type: "error", errorText: this.#errorText ?? LOST },
    ];
  }
}
