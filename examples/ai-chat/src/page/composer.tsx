import type { FileUIPart } from "ai";
import { useRef, type ChangeEvent, type SubmitEvent } from "react";
import { isBusy, type Draft, type PageChat } from "./chat-message.ts";
import { sendAtEnter, useDraft } from "./use-draft.ts";

function Attached({ files, onRemove }: { files: FileUIPart[]; onRemove: (file: FileUIPart) => void }) {
  if (files.length === 0) return null;
  return (
    <ul className="attached" aria-label="Attached files">
      {files.map((file) => (
        <li key={file.url}>
          {file.filename}
          <button type="button" aria-label={`Remove ${file.filename}`} onClick={() => onRemove(file)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

type Props = {
  chat: Pick<PageChat, "status" | "error">;
  onSend: (message: Draft) => Promise<void>;
  onSteer: (text: string) => Promise<void>;
  onStop: () => Promise<void>;
};

/** Where a message is written. While an answer comes, a message waits for its turn, or steers. */
export function Composer({ chat, onSend, onSteer, onStop }: Props) {
  const { text, files, problem, change, fail, add, read } = useDraft({ text: "", files: [] });
  const field = useRef<HTMLTextAreaElement>(null);
  const isAnswering = isBusy(chat);

  const clear = (): void => {
    change({ text: "", files: [] });
    field.current?.focus();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const message = read();
    if (message === null) return;
    clear();
    onSend(message).catch(fail);
  };
  const steer = (): void => {
    const message = read();
    if (message !== null) onSteer(message.text).then(clear, fail);
  };
  const stop = (): void => {
    // Its button goes.
    field.current?.focus();
    onStop().catch(fail);
  };
  const pick = (event: ChangeEvent<HTMLInputElement>): void => {
    const { currentTarget: input } = event;
    void add([...(input.files ?? [])]);
    // So that the same file can be picked again.
    input.value = "";
  };

  return (
    <form onSubmit={submit} aria-label="Write a message">
      <label htmlFor="text">Your message</label>
      <textarea
        id="text"
        ref={field}
        rows={1}
        maxLength={20_000}
        value={text}
        onChange={(event) => change({ text: event.currentTarget.value })}
        onKeyDown={sendAtEnter}
      />
      <Attached files={files} onRemove={(file) => change({ files: files.filter((one) => one !== file) })} />
      <div className="buttons">
        <label className="button attach">
          Attach files
          <input className="hidden" type="file" multiple accept="image/*,text/*,.md,.json" onChange={pick} />
        </label>
        {isAnswering && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        {isAnswering && (
          <button type="button" onClick={steer} disabled={text.trim() === "" || files.length > 0}>
            Steer
          </button>
        )}
        <button className="primary" type="submit">
          {isAnswering ? "Queue" : "Send"}
        </button>
      </div>
      <p className="problem" role="alert">
        {problem || chat.error?.message}
      </p>
    </form>
  );
}
