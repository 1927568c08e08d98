import { filesOf, textOf, type PageChat } from "./chat-message.ts";

/** What is sent when the answer is whole, in this order. The AI SDK still calls its queue experimental. */
export function Queue({ chat }: { chat: PageChat }) {
  const { experimental_queuedMessages: queued } = chat;
  if (queued.length === 0) return null;
  return (
    <ol className="queue" aria-label="Queued messages">
      {queued.map((message) => (
        <li key={message.id}>
          <p className="text">{textOf(message)}</p>
          {filesOf(message).map(({ filename }) => filename)}
          <div className="buttons">
            <button type="button" onClick={() => void chat.experimental_sendQueuedMessageNow(message.id)}>
              Send now
            </button>
            <button type="button" onClick={() => chat.experimental_removeQueuedMessage(message.id)}>
              Remove
            </button>
          </div>
        </li>
      ))}
    </ol>
  );
}
