import {
  addChatChunk,
  isChatChunk,
  readChatQuestion,
  type ChatPart,
  type ChatQuestion,
} from "@keelson/contract/chat";
import { readSaid, type Said } from "./record-text.ts";

/** What a row says. */
export type Content = {
  /** The words, when it has any. What has no words, parts or question is shown as the JSON of its first record. */
  text: string | null;
  /** The data of a message's pieces that have no words, in their order. */
  others: readonly unknown[];
  /** The answer of a chat. */
  parts: readonly ChatPart[];
  /** What a person asked in a chat. */
  question: ChatQuestion | null;
};

export const NO_CONTENT: Content = { text: null, others: [], parts: [], question: null };

/** What a record on its own says. */
export function contentOf(data: unknown, said: Said | null): Content {
  const question = readChatQuestion(data);
  return { ...NO_CONTENT, question, text: question?.text ?? said?.text ?? null };
}

/** What a message says with one more piece. */
export function addPiece({ text, others, parts, question }: Content, data: unknown): Content {
  if (isChatChunk(data)) return { text, others, parts: addChatChunk(parts, data), question };
  const asked = readChatQuestion(data);
  if (asked !== null && text === null) return { text: asked.text, others, parts, question: asked };
  const said = readSaid(data);
  return said === null
    ? { text, others: [...others, data], parts, question }
    : { text: `${text ?? ""}${said.text}`, others, parts, question };
}
