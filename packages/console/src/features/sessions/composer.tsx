import type { Session, Stream } from "@keelson/contract";
import { DEFAULT_INPUT_STREAM } from "@keelson/contract/plain";
import { SendHorizontal } from "lucide-react";
import { useRef, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { inputClass } from "../../ui/field.tsx";
import { INPUT_FORM_LABELS, INPUT_FORMS } from "./input-message.ts";
import type { Row } from "./join-records.ts";
import { useComposer, type Composing } from "./use-composer.ts";

const MAX_ROWS = 8;

/** Sends input: Press Enter to send and Shift+Enter for a new line. */
export function Composer({
  session,
  streams,
  rows,
}: {
  session: Session;
  streams: readonly Stream[];
  rows: readonly Row[];
}): ReactNode {
  const field = useRef<HTMLTextAreaElement>(null);
  const composing = useComposer(session, rows, () => field.current?.focus());
  const { draft, change, form, problem, error, isSending, submit } = composing;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      aria-label="Send input"
      className="flex flex-col gap-2 border-t border-line bg-surface p-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {error !== null && <ErrorPanel error={error} />}
      {problem !== null && (
        <p role="alert" className="text-xs text-bad">
          {problem}
        </p>
      )}
      <div className="flex items-end gap-2">
        <textarea
          ref={field}
          aria-label="Message"
          aria-keyshortcuts="Enter"
          placeholder={form === "json" ? '{"anything": true}' : "A message"}
          rows={Math.min(MAX_ROWS, Math.max(2, draft.typed.split("\n").length))}
          className={`${inputClass} resize-none ${form === "json" ? "font-mono text-xs" : ""}`}
          value={draft.typed}
          readOnly={isSending}
          onChange={({ target }) => change({ typed: target.value })}
          onKeyDown={onKey}
        />
        <Button
          type="submit"
          kind="primary"
          isBusy={isSending}
          icon={<SendHorizontal size={15} aria-hidden />}
        >
          Send
        </Button>
      </div>
      <Choices composing={composing} streams={streams} />
    </form>
  );
}

/** Where it goes, as what, and to what it belongs. */
function Choices({
  composing: { draft, change, form },
  streams,
}: {
  composing: Composing;
  streams: readonly Stream[];
}): ReactNode {
  return (
    <div className="flex flex-wrap items-center gap-2 text-xs text-quiet">
      <select
        aria-label="Input stream"
        className={inputClass}
        style={{ width: "auto" }}
        value={draft.stream}
        onChange={({ target }) => change({ stream: target.value })}
      >
        {inputNames(streams).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        aria-label="Sent as"
        className={inputClass}
        style={{ width: "auto" }}
        value={form}
        onChange={({ target }) => change({ form: INPUT_FORMS.find((one) => one === target.value) ?? null })}
      >
        {INPUT_FORMS.map((one) => (
          <option key={one} value={one}>
            {INPUT_FORM_LABELS[one]}
          </option>
        ))}
      </select>
      <input
        aria-label="Correlation id"
        placeholder="Correlation id"
        className={inputClass}
        style={{ width: "10rem" }}
        value={draft.correlation}
        onChange={({ target }) => change({ correlation: target.value })}
      />
      <span className="max-sm:hidden">Press Enter to send and Shift+Enter for a new line.</span>
    </div>
  );
}

const inputNames = (streams: readonly Stream[]): string[] => {
  const names = streams.filter(({ direction }) => direction === "input").map(({ name }) => name);
  return [...new Set([DEFAULT_INPUT_STREAM, ...names.toSorted()])];
};
