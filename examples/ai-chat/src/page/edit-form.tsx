import { useEffect, useRef, type SubmitEvent } from "react";
import { filesOf, textOf, type ChatMessage, type Draft } from "./chat-message.ts";
import { sendAtEnter, useDraft } from "./use-draft.ts";

type Props = {
  message: ChatMessage;
  onSend: (message: Draft & { messageId: string }) => Promise<void>;
  onClose: () => void;
};

/** In place of a message of the person. What came after that message is forgotten when it is sent again. */
export function EditForm({ message, onSend, onClose }: Props) {
  const { text, problem, change, read } = useDraft({ text: textOf(message), files: filesOf(message) });
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const edited = read();
    if (edited === null) return;
    onClose();
    void onSend({ ...edited, messageId: message.id });
  };
  return (
    <li className="mine">
      <form onSubmit={submit} aria-label="Edit a message">
        <textarea
          ref={field}
          aria-label="Edited message"
          maxLength={20_000}
          value={text}
          onChange={(event) => change({ text: event.currentTarget.value })}
          onKeyDown={sendAtEnter}
        />
        <div className="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button className="primary" type="submit">
            Send again
          </button>
        </div>
        <p className="problem" role="alert">
          {problem}
        </p>
      </form>
    </li>
  );
}
