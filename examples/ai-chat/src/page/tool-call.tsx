import { getToolName } from "ai";
import { useId, useState } from "react";
import type { ChatMessage, PageChat } from "./chat-message.ts";

type ToolPart = Extract<ChatMessage["parts"][number], { toolCallId: string }>;

type Props = {
  part: ToolPart;
  /** Its answer is being written: later nobody waits for a decision. */
  isOpen: boolean;
  onDecide: PageChat["approve"];
};

const STATES: Record<ToolPart["state"], string> = {
  "input-streaming": "Being called",
  "input-available": "Running",
  "approval-requested": "Waits for your approval",
  "approval-responded": "Decided",
  "output-available": "Done",
  "output-error": "Failed",
  "output-denied": "Denied",
};

/** Texts as they are, so that a file reads as a file. */
const show = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function Values({ input }: { input: unknown }) {
  if (typeof input !== "object" || input === null) return null;
  return (
    <dl>
      {Object.entries(input).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <pre>{show(value)}</pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Decision({ approval, onDecide }: { approval: ToolPart["approval"] } & Pick<Props, "onDecide">) {
  const [note, setNote] = useState("");
  if (approval === undefined) return null;
  const decide = (approved: boolean): void => {
    setNote("Sending");
    // The buttons go, and the focus with them.
    document.querySelector<HTMLElement>("#text")?.focus();
    onDecide(approval, { approved }).then(
      (isFirst) => setNote(isFirst ? "Sent" : "This was decided before."),
      (error: unknown) => setNote(`Not sent: ${error instanceof Error ? error.message : String(error)}`),
    );
  };
  return (
    <div className="buttons">
      <button className="primary" type="button" onClick={() => decide(true)}>
        Approve
      </button>
      <button type="button" onClick={() => decide(false)}>
        Deny
      </button>
      <span className="note" role="status">
        {note}
      </span>
    </div>
  );
}

/** A call of a tool: what it is given, what it gave, and the decision that it waits for. */
export function ToolCall({ part, isOpen, onDecide }: Props) {
  const heading = useId();
  const { state, input, output, errorText, approval } = part;
  const asks = isOpen && state === "approval-requested";
  const outcome = errorText ?? output;
  return (
    <div className={asks ? "tool asks" : "tool"} role="group" aria-labelledby={heading}>
      <h2 id={heading}>
        {getToolName(part)}: {STATES[state]}
      </h2>
      <details open={asks}>
        <summary>Details</summary>
        <Values input={input} />
        {outcome !== undefined && <pre className="outcome">{show(outcome)}</pre>}
      </details>
      {asks && <Decision approval={approval} onDecide={onDecide} />}
    </div>
  );
}
