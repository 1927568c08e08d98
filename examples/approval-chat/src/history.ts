import { Client, type RunContext, type RunSession } from "@keelson/sdk";
import { INSTRUCTIONS, type Message } from "./messages.ts";

/**
 * The messages as the model takes them are a stream of their own: the page's tokens do not reach it, and it has one
 * record a message where `output` has one a piece.
 */
const HISTORY = "history";
/** What a model is told of earlier turns, the newest messages; the result of a step has its limit too. */
const MAX_EARLIER_CHARACTERS = 100_000;
const RETRY = { maxAttempts: 5 } as const;

export type History = {
  readonly messages: readonly Message[];
  add(message: Message): Promise<void>;
};

/**
 * What was said in the conversation so far. Within a turn the run's journal keeps it: a replay comes by every `add`
 * again, and appends nothing. A turn is a run of its own with an empty journal, so it reads what the turns before it
 * have left, in a step, because a replay must find the same messages.
 */
export async function openHistory(session: RunSession, ctx: RunContext): Promise<History> {
  const earlier =
    session.turn === 1
      ? []
      : await ctx.step("history", () => readHistory(session.id, ctx.signal), { retry: RETRY });
  const messages = [INSTRUCTIONS, ...earlier];
  return {
    messages,
    async add(message) {
      messages.push(message);
      await session.output(HISTORY).append(message);
    },
  };
}

/** The client acts as the run that reads. */
async function readHistory(sessionId: string, signal: AbortSignal): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const { data } of new Client().sessions.records<Message>(sessionId, { stream: HISTORY, signal }))
    messages.push(data);
  let characters = 0;
  const from = messages.findLastIndex(
    ({ content }) => (characters += content.length) > MAX_EARLIER_CHARACTERS,
  );
  return messages.slice(from + 1);
}
