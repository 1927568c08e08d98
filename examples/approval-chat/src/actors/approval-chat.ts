import { actor, type InputRecord, type RunContext, type RunSession } from "@keelson/sdk";
import { answerMessage } from "../answer-message.ts";
import { ACTOR_ID, type ChatInput } from "../chat-records.ts";
import { openHistory } from "../history.ts";

const IDLE_SECONDS = Number(process.env["APPROVAL_CHAT_IDLE_SECONDS"] || 10 * 60);
const MAX_TEXT_CHARACTERS = 4_000;
/** A turn has one journal; a conversation that goes on for long goes on in another. */
const MESSAGES_PER_TURN = 50;

export const approvalChat = actor({
  id: ACTOR_ID,
  description: "A conversation that asks for approval before it acts.",
  /** The turn ends when nothing was said for so long. The next message begins the next one. */
  idleTimeout: `${IDLE_SECONDS}s`,
  async run(session: RunSession<ChatInput>, ctx: RunContext): Promise<{ messages: number }> {
    const history = await openHistory(session, ctx);
    let messages = 0;
    for (; messages < MESSAGES_PER_TURN; messages += 1) {
      const record = await session.input.receive();
      // Idle, or the conversation was closed.
      if (record === null) break;
      const correlationId = record.correlationId ?? record.id;
      const text = readText(record);
      if (text === null) {
        const reason = `A message is {"text": …} or a text, with 1 to ${MAX_TEXT_CHARACTERS} characters.`;
        await session.output.append({ type: "failed", reason }, { correlationId });
        continue;
      }
      await session.output.append({ type: "message", text, turn: session.turn }, { correlationId });
      await history.add({ role: "user", content: text });
      await answerMessage({ session, ctx, history, correlationId });
    }
    return { messages };
  },
});

/** It comes from a browser, as the page sends it or as a person types it in the console, and may be any JSON. */
function readText({ data }: InputRecord<Partial<ChatInput> | string | null>): string | null {
  const text = typeof data === "string" ? data : data?.text;
  if (typeof text !== "string" || text.trim() === "" || text.length > MAX_TEXT_CHARACTERS) return null;
  return text.trim();
}
