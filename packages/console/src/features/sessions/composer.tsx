import type { Session, Stream, StreamRecord } from "@keelson/contract";
import { DEFAULT_INPUT_STREAM } from "@keelson/contract/plain";
import { KeelsonError } from "@keelson/sdk/browser";
import { SendHorizontal } from "lucide-react";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { inputClass } from "../../ui/field.tsx";
import { formOfData, INPUT_FORM_LABELS, INPUT_FORMS, toInputData, type InputForm } from "./input-message.ts";
import type { Row } from "./join-records.ts";

const NO_CORRELATION = "";

/** Sends input. What was refused, or may not have arrived, stays where it was typed; to send it again has one effect. */
export function Composer({
  session,
  streams,
  rows,
}: {
  session: Session;
  streams: readonly Stream[];
  rows: readonly Row[];
}): ReactNode {
  const names = inputNames(streams);
  const [stream, setStream] = useState<string>(DEFAULT_INPUT_STREAM);
  const [chosenForm, setChosenForm] = useState<InputForm | null>(null);
  const [correlation, setCorrelation] = useState(NO_CORRELATION);
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  // The key of what was sent last and not answered well: the same again is a repeat, anything else is not.
  const pending = useRef<{ content: string; key: string } | null>(null);
  const lastSent = rows.findLast((row) => row.direction === "input" && row.stream === stream);
  const form = chosenForm ?? (lastSent === undefined ? "text" : formOfData(lastSent.first.data));

  const action = useAction<{ data: unknown; key: string }, StreamRecord>(
    (place, { data, key }) =>
      sendTwice(`/api/sessions/${encodeURIComponent(session.id)}/inputs/${encodeURIComponent(stream)}`, {
        ...place,
        data,
        ...(correlation !== NO_CORRELATION && { correlation_id: correlation }),
        idempotency_key: key,
      }),
    {
      isShownInPlace: true,
      onDone: () => {
        pending.current = null;
        setTyped("");
        field.current?.focus();
      },
    },
  );
  const submit = (): void => {
    if (action.isPending || typed.trim() === "") return;
    const input = toInputData(form, typed);
    setProblem("problem" in input ? input.problem : null);
    if ("problem" in input) return;
    const content = JSON.stringify([stream, correlation, input.data]);
    if (pending.current?.content !== content) pending.current = { content, key: crypto.randomUUID() };
    action.mutate({ data: input.data, key: pending.current.key });
  };
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
      {action.error !== null && <ErrorPanel error={action.error} />}
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
          rows={Math.min(8, Math.max(2, typed.split("\n").length))}
          className={`${inputClass} resize-none ${form === "json" ? "font-mono text-xs" : ""}`}
          value={typed}
          readOnly={action.isPending}
          onChange={({ target }) => setTyped(target.value)}
          onKeyDown={onKey}
        />
        <Button
          type="submit"
          kind="primary"
          isBusy={action.isPending}
          icon={<SendHorizontal size={15} aria-hidden />}
        >
          Send
        </Button>
      </div>
      <div className="flex flex-wrap items-center gap-2 text-xs text-quiet">
        <select
          aria-label="Input stream"
          className={inputClass}
          style={{ width: "auto" }}
          value={stream}
          onChange={({ target }) => setStream(target.value)}
        >
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <select
          aria-label="Sent as"
          className={inputClass}
          style={{ width: "auto" }}
          value={form}
          onChange={({ target }) => setChosenForm(INPUT_FORMS.find((one) => one === target.value) ?? null)}
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
          value={correlation}
          onChange={({ target }) => setCorrelation(target.value)}
        />
        <span className="max-sm:hidden">Enter sends, Shift+Enter begins a new line.</span>
      </div>
    </form>
  );
}

const inputNames = (streams: readonly Stream[]): string[] => {
  const names = streams.filter(({ direction }) => direction === "input").map(({ name }) => name);
  return [...new Set([DEFAULT_INPUT_STREAM, ...names.toSorted()])];
};

/** A lost answer is asked for once more: with its key the request has one effect. */
async function sendTwice(path: string, body: Record<string, unknown>): Promise<StreamRecord> {
  try {
    return await send<StreamRecord>("POST", path, { body });
  } catch (error) {
    if (!(error instanceof KeelsonError) || !error.outcomeUnknown) throw error;
    return send<StreamRecord>("POST", path, { body });
  }
}
