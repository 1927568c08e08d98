import assert from "node:assert/strict";
import { MESSAGE_CONTENT_TYPE, type MessageNews, type StreamRecord } from "@keelson/contract";
import {
  addChatChunk,
  isChatChunk,
  readChatQuestion,
  stopCalls,
  type ChatPart,
  type ToolCallState,
} from "@keelson/contract/chat";

const STATES: Record<ToolCallState, string> = {
  called: "input-available",
  asked: "approval-requested",
  approved: "approval-responded",
  denied: "output-denied",
  done: "output-available",
  failed: "output-error",
};

/** What is shown of an answer without the AI SDK, in the words of `readAnswer`. All records of its exchange are understood. */
export function shownAnswer(exchange: readonly StreamRecord[]): string[] {
  const pieces: StreamRecord[] = [];
  let isWhole = true;
  for (const record of exchange) {
    if (record.content_type !== MESSAGE_CONTENT_TYPE) pieces.push(record);
    else take(pieces, record);
    const news = record.data as MessageNews;
    if (record.content_type === MESSAGE_CONTENT_TYPE && news.event === "ended")
      isWhole = news.status === "complete";
  }
  let parts: readonly ChatPart[] = [];
  for (const { data } of pieces) {
    const isUnderstood = isChatChunk(data) || readChatQuestion(data) !== null;
    assert.ok(isUnderstood, `not understood: ${JSON.stringify(data)}`);
    if (isChatChunk(data)) parts = addChatChunk(parts, data);
  }
  return (isWhole ? parts : stopCalls(parts)).flatMap((part): string[] => {
    if (part.kind === "text") return [`assistant: ${part.text}`];
    if (part.kind !== "tool") return [];
    return [`tool-${part.tool} ${STATES[part.state]} ${JSON.stringify(part.output ?? null)}`];
  });
}

/** Takes away what counts no more. */
function take(pieces: StreamRecord[], { data, sequence }: StreamRecord): void {
  const news = data as MessageNews;
  if (news.event !== "voided") return;
  const { from_sequence: from, to_sequence: to } = news;
  const counts = (at: number): boolean => at < from || at > (to ?? sequence);
  pieces.splice(0, pieces.length, ...pieces.filter((piece) => counts(piece.sequence)));
}
