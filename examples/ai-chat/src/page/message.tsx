import { isToolUIPart, type FileUIPart } from "ai";
import { useState } from "react";
import { isBusy, type ChatMessage, type PageChat } from "./chat-message.ts";
import { EditForm } from "./edit-form.tsx";
import { ToolCall } from "./tool-call.tsx";

const ENDS = { interrupted: "Stopped", failed: "Failed" } as const;

const AttachedFile = ({ url, mediaType, filename = "file" }: FileUIPart) =>
  mediaType.startsWith("image/") ? (
    <img src={url} alt={filename} />
  ) : (
    <p className="file">Attached: {filename}</p>
  );

type Props = {
  message: ChatMessage;
  chat: PageChat;
  /** It is being written. */
  isOpen: boolean;
};

/** What is shown is set as text, never as markup: it comes from a model and from other people. */
function Part({ part, chat, isOpen }: Omit<Props, "message"> & { part: ChatMessage["parts"][number] }) {
  if (part.type === "text") return <p className="text">{part.text}</p>;
  if (part.type === "file") return <AttachedFile {...part} />;
  if (isToolUIPart(part)) return <ToolCall part={part} isOpen={isOpen} onDecide={chat.approve} />;
  if (part.type !== "reasoning") return null;
  return (
    <details>
      <summary>Reasoning</summary>
      <p className="text">{part.text}</p>
    </details>
  );
}

/** What the person has said, or an answer. */
export function Message({ message, chat, isOpen }: Props) {
  const [isEdited, setEdited] = useState(false);
  const isOwn = message.role === "user";
  const status = message.metadata?.status;
  if (isEdited)
    return <EditForm message={message} onSend={chat.sendMessage} onClose={() => setEdited(false)} />;
  return (
    <li className={isOwn ? "mine" : "theirs"} aria-busy={isOpen && !isOwn}>
      <span className="hidden">{isOwn ? "You: " : "Assistant: "}</span>
      {message.parts.map((part, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- parts are only added
        <Part key={`${part.type} ${at}`} part={part} chat={chat} isOpen={isOpen} />
      ))}
      {status !== undefined && <p className="note">{ENDS[status]}</p>}
      {isOwn && !isBusy(chat) && (
        <button className="small" type="button" onClick={() => setEdited(true)}>
          Edit
        </button>
      )}
    </li>
  );
}
