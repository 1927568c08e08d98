import type { AbstractChat, UIMessage } from "ai";
import type { KeelsonChatTransport } from "./chat-transport.ts";

/** How often a chat is looked at that is busy; it tells nobody but its own framework. */
const LOOK_MS = 20;

const isBusy = ({ status }: Pick<AbstractChat<UIMessage>, "status">): boolean =>
  status === "submitted" || status === "streaming";

/**
 * Shows in a chat what other tabs and devices say, and the answers to it, and how an answer has ended that was stopped here, until the signal is
 * aborted. `useKeelsonChat` of `@keelson/sdk/ai/react` does that too.
 */
export async function followOthers<M extends UIMessage>(
  chat: AbstractChat<M>,
  transport: KeelsonChatTransport<M>,
  signal: AbortSignal,
): Promise<void> {
  for await (const answerId of transport.others(signal)) {
    while (isBusy(chat) && !signal.aborted) await new Promise((next) => setTimeout(next, LOOK_MS));
    if (signal.aborted) return;
    chat.messages = await transport.load();
    await chat.resumeStream();
    // It ended between the two.
    if (!chat.messages.some(({ id }) => id === answerId)) chat.messages = await transport.load();
  }
}
