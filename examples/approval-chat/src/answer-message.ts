import {
  StepError,
  type OutputMessage,
  type PipedMessage,
  type RunContext,
  type RunSession,
} from "@keelson/sdk";
import { act } from "./act.ts";
import { askApproval } from "./ask-approval.ts";
import type { ChatRecord } from "./chat-records.ts";
import type { History } from "./history.ts";
import { provider } from "./provider.ts";
import { joinAnswer, splitAnswer, type Answer } from "./split-answer.ts";

const RETRY = { maxAttempts: 3, initialDelay: "500ms" } as const;
/** For one message: a model that never stops asking is stopped. */
const MAX_ANSWERS = 6;

export type Exchange = { session: RunSession; ctx: RunContext; history: History; correlationId: string };

/** Answers the last message of the history, and does what the assistant wants to do and the person approves. */
export async function answerMessage({ session, ctx, history, correlationId }: Exchange): Promise<void> {
  const say = (record: ChatRecord): Promise<void> => session.output.append(record, { correlationId });
  // All that is answered is one message, approvals and actions included: the person can stop it at any time.
  const message = await session.output.message({ correlationId });
  try {
    for (let answers = 0; answers < MAX_ANSWERS; answers += 1) {
      // In a step, so that the model is asked once: a replay has its answer from the journal, and streams nothing.
      const { text, action } = await ctx.step("answer", () => streamAnswer(message, history), {
        retry: RETRY,
      });
      await history.add({ role: "assistant", content: joinAnswer({ text, action }) });
      // Not in the step: an interrupted answer has no end, and so the page knows that it begins again. And after the
      // history: whoever has read that it is answered finds the answer there.
      await say({ type: "answered" });
      // What was stopped before it was read is not done.
      if (message.interrupted || action === null) return;
      const { outcome, tokenId } = await askApproval(action, say, ctx);
      const content = outcome === "approved" ? await perform(action, tokenId, ctx) : outcome;
      await history.add({ role: "outcome", content });
      if (outcome === "stopped") return;
    }
    await say({
      type: "failed",
      reason: `The assistant was stopped after ${MAX_ANSWERS} answers to one message.`,
    });
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    ctx.logger.error("No answer", { reason: error.message });
    await say({ type: "failed", reason: "The model cannot be reached at the moment. Please try again." });
  } finally {
    if ((await message.end()) === "interrupted") await say({ type: "stopped" });
  }
}

/** Appends the pieces of an answer as they come, until somebody stops it. */
async function streamAnswer(message: OutputMessage, history: History): Promise<Answer> {
  let answer: Answer = { text: "", action: null };
  async function* records({ signal }: PipedMessage): AsyncGenerator<ChatRecord> {
    yield { type: "answer" };
    const pieces = splitAnswer(provider(history.messages, signal));
    for (let next = await pieces.next(); ; next = await pieces.next()) {
      if (next.done) {
        answer = next.value;
        return;
      }
      answer.text += next.value;
      yield { type: "piece", text: next.value };
    }
  }
  await message.pipe(records);
  return answer;
}

/** The outcome of an approved action, in words. */
async function perform(action: string, tokenId: string, ctx: RunContext): Promise<string> {
  const { signal } = ctx;
  try {
    return await ctx.step(
      "act",
      () => {
        ctx.logger.info("Acting", { action });
        return act(action, { idempotencyKey: tokenId, signal });
      },
      { retry: RETRY },
    );
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    return `failed: ${(error.cause as Error).message}`;
  }
}
