import { CALL_STOPPED } from "@keelson/contract/chat";
import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import type { Message } from "../client/resources.ts";
import { applyChunks } from "./apply-chunks.ts";

/** How an answer ended otherwise than complete, in its `metadata`. */
export type AnswerMetadata = {
  /** Somebody stopped it, or the model could not be reached. Absent: it is complete. */
  status?: "interrupted" | "failed";
};

type Row = Pick<Message, "id" | "status" | "data" | "firstSequence">;

const isMessage = (data: unknown): data is UIMessage =>
  typeof data === "object" && data !== null && Array.isArray((data as UIMessage).parts);

export const newAnswer = (id: string): UIMessage => ({ id, role: "assistant", parts: [] });

/** Where a call of a tool still has something before it. */
const UNDER_WAY = new Set(["input-streaming", "input-available", "approval-requested", "approval-responded"]);

/**
 * The answer with how it ended. What is cut off goes on nowhere: a call that was under way has failed, since the AI SDK holds back
 * what a person says next as long as one waits for them.
 */
async function withStatus(message: UIMessage, status: Message["status"]): Promise<UIMessage> {
  if (status !== "interrupted" && status !== "failed") return message;
  const calls = message.parts.filter((part) => isToolUIPart(part) && UNDER_WAY.has(part.state));
  const ended = await applyChunks(
    message,
    calls.map((part) => stoppedCall((part as { toolCallId: string }).toolCallId)),
  );
  return { ...ended, metadata: { ...(message.metadata as object | undefined), status } };
}

export const stoppedCall = (toolCallId: string): UIMessageChunk => ({
  type: "tool-output-error",
  toolCallId,
  errorText: CALL_STOPPED,
});

/** What a message of the stream is in the chat: what a person said, or an answer. Null: neither. */
async function readRow({ id, status, data }: Row): Promise<UIMessage | null> {
  if (isMessage(data)) return withStatus(data, status);
  if (!Array.isArray(data)) return null;
  const [first] = data as unknown[];
  if (isMessage(first)) return first;
  return withStatus(await applyChunks(newAnswer(id), data as UIMessageChunk[]), status);
}

/**
 * The conversation, oldest first, from the messages of its stream in any order. A message of the person whose id is known
 * replaces that one and what came after it.
 */
export async function toConversation<M extends UIMessage = UIMessage>(rows: readonly Row[]): Promise<M[]> {
  const ended = rows.filter(({ status }) => status !== "open");
  const all = await Promise.all(ended.toSorted((a, b) => a.firstSequence - b.firstSequence).map(readRow));
  const conversation: UIMessage[] = [];
  for (const message of all) {
    if (message === null) continue;
    if (message.role === "user") {
      const known = conversation.findIndex(({ id }) => id === message.id);
      if (known !== -1) conversation.length = known;
    }
    conversation.push(message);
  }
  return conversation as M[];
}
