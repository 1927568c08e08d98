import type { KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { AbstractChat, type ChatState, type UIMessage } from "ai";

class PageState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>["status"] = "ready";
  error: Error | undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message]);
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage): void =>
    void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** A page of a chat, without React. */
export class ChatPage extends AbstractChat<UIMessage> {
  readonly to: KeelsonChatTransport;
  /** @param queues as `useKeelsonChat` does: what is sent while an answer is written waits in the page */
  constructor(to: KeelsonChatTransport, messages: UIMessage[], queues = false) {
    super({ transport: to, state: new PageState(messages), experimental_queue: queues });
    this.to = to;
  }
}
