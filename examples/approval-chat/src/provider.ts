import { setTimeout as sleep } from "node:timers/promises";
import { ACTION_MARK, type Message } from "./messages.ts";

/** As fast as a model might write. */
const WORD_DELAY_MS = 35;

/**
 * A script that stands where a model provider would be. To put a model here, send it `messages`, yield the text of its
 * answer in the pieces in which it arrives, and pass `signal` to the request; the README has an example. It runs in a
 * step: when it throws it is called again, and when the answer is complete it is never called again for it.
 */
export async function* provider(messages: readonly Message[], signal: AbortSignal): AsyncGenerator<string> {
  const words = writeAnswer(messages).split(/(?<=\s)/);
  for (const word of words) {
    await sleep(WORD_DELAY_MS, undefined, { signal });
    yield word;
  }
}

const ACTIONS = /\b(delete|drop|restart|stop|deploy|rotate|restore|scale|clear)\s+(.*?)[.!?]*$/i;

function writeAnswer(messages: readonly Message[]): string {
  const last = messages.at(-1);
  const text = last?.content ?? "";
  if (last?.role === "outcome") return reportOutcome(text);
  const [, verb, what] = ACTIONS.exec(text) ?? [];
  if (verb !== undefined && what !== undefined) {
    const action = `${verb.toLowerCase()} ${what}`;
    return `I can ${action}. That cannot be taken back, so I will wait until you say yes.\n${ACTION_MARK} ${action}`;
  }
  if (/\b(remember|first|so far|earlier)\b/i.test(text)) return recall(messages);
  if (/\b(help|what can you)\b/i.test(text))
    return "I look after the servers. Ask me to delete, restart, deploy or restore something: I will ask you for approval before I do it. You can also ask me what you said first.";
  return `You said “${text}”. I am a short script that stands where a model would be, so I have no opinion on that, but I can write it down word by word. Try “delete the staging database”.`;
}

function reportOutcome(outcome: string): string {
  if (outcome.startsWith("done")) return `It is ${outcome}. Is there anything else?`;
  if (outcome.startsWith("expired"))
    return "Nobody decided in time, so I have done nothing. Ask me again when you are ready.";
  if (outcome.startsWith("refused")) return "All right, I have left everything as it is.";
  return `That did not work: ${outcome}. Nothing else was changed.`;
}

function recall(messages: readonly Message[]): string {
  const said = messages.filter(({ role }) => role === "user");
  return `You have written ${said.length} messages in this conversation. The first one was “${said[0]?.content}”.`;
}
