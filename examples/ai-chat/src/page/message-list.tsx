import { useEffect, useRef } from "react";
import { Announcer } from "./announcer.tsx";
import { isBusy, type PageChat } from "./chat-message.ts";
import { Message } from "./message.tsx";
import { Queue } from "./queue.tsx";

/** Closer to the end than this, the reader wants to see what comes. */
const NEAR_END_PX = 120;

/** The conversation. It scrolls, so the keyboard must reach it. */
export function MessageList({ chat }: { chat: PageChat }) {
  const scroller = useRef<HTMLElement>(null);
  const height = useRef(0);
  const { messages, status } = chat;
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const wasNearEnd = height.current - current.scrollTop - current.clientHeight < NEAR_END_PX;
    height.current = current.scrollHeight;
    if (wasNearEnd) current.scrollTop = current.scrollHeight;
  });
  const last = messages.at(-1);
  return (
    <main ref={scroller} tabIndex={0} aria-label="Conversation">
      <ol className="messages" aria-label="Messages">
        {messages.map((message) => (
          <Message key={message.id} message={message} chat={chat} isOpen={isBusy(chat) && message === last} />
        ))}
      </ol>
      {last?.role === "assistant" && !isBusy(chat) && (
        <button className="small" type="button" onClick={() => void chat.regenerate()}>
          Try again
        </button>
      )}
      {status === "submitted" && <p className="note">Sent</p>}
      <Queue chat={chat} />
      <Announcer chat={chat} />
    </main>
  );
}
