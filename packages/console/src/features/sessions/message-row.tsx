import type { StreamRecord } from "@keelson/contract";
import { Braces } from "lucide-react";
import { memo, useState, type ReactNode } from "react";
import { useUser } from "../../app/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import type { Row } from "./join-records.ts";
import { briefJson, MessageBody } from "./message-body.tsx";
import { RecordFacts } from "./record-facts.tsx";

type RowProps = {
  row: Row;
  /** It belongs to the exchange that is pointed at. */
  isLit: boolean;
  /** It is input that no run has received. */
  isQueued: boolean;
  onWithdraw: (record: StreamRecord) => void;
  onLight: (correlationId: string | null) => void;
  onCorrelation: (correlationId: string) => void;
};

/** What was said to the session stands at the right, what the session says at the left with its stream's name. */
export const MessageRow = memo(function MessageRow({
  row,
  isLit,
  isQueued,
  onWithdraw,
  onLight,
  onCorrelation,
}: RowProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const { direction, stream, correlationId, first, last, count, isReplaced } = row;
  const isInput = direction === "input";
  const isWithdrawn = first.withdrawn_at !== undefined;
  const line = isWithdrawn ? null : briefJson(row);
  return (
    <article
      aria-label={`${isInput ? "Input" : "Output"} ${stream} ${first.sequence}`}
      className={cx(
        "flex w-full flex-col gap-0.5",
        isReplaced && "opacity-60",
        isInput ? "items-end pl-8 sm:pl-16" : "items-start pr-8 sm:pr-16",
      )}
    >
      <header className="flex max-w-full flex-wrap items-center gap-x-2 text-xs text-quiet">
        <span className="font-medium text-text">{isInput ? <Sender row={row} /> : stream}</span>
        {isInput && <span>{stream}</span>}
        <Time at={last.created_at} />
        {line !== null && <code className="font-mono break-all text-text">{line}</code>}
        <RowState row={row} isQueued={isQueued} onWithdraw={onWithdraw} />
        {count > 1 && <span>{count.toLocaleString()} pieces</span>}
        {correlationId !== null && (
          <button
            type="button"
            title={`Show only ${visibleText(correlationId)}`}
            className={cx(
              "max-w-32 truncate rounded px-1 font-mono hover:bg-accent-ground hover:text-accent",
              isLit && "bg-accent-ground text-accent",
            )}
            onMouseEnter={() => onLight(correlationId)}
            onMouseLeave={() => onLight(null)}
            onFocus={() => onLight(correlationId)}
            onBlur={() => onLight(null)}
            onClick={() => onCorrelation(correlationId)}
          >
            <bdi>{visibleText(correlationId)}</bdi>
          </button>
        )}
        <IconButton
          label={isOpen ? "Hide the record" : "Show the record"}
          aria-expanded={isOpen}
          className="!size-6"
          onClick={() => setIsOpen(!isOpen)}
        >
          <Braces size={12} aria-hidden />
        </IconButton>
      </header>
      {line === null && !isWithdrawn && (
        <div
          className={cx(
            "max-w-full min-w-0 rounded-lg border px-3 py-1.5",
            isInput ? "bg-accent-ground" : "bg-surface",
            isLit ? "border-accent" : isInput ? "border-transparent" : "border-line",
          )}
        >
          <MessageBody row={row} />
        </div>
      )}
      {isOpen && <RecordFacts row={row} />}
    </article>
  );
});

/** How a message ended, what a person said, and what was said in another way later. */
function RowState({ row, ...input }: Pick<RowProps, "row" | "isQueued" | "onWithdraw">): ReactNode {
  const { direction, end, question, isReplaced } = row;
  return (
    <>
      {end !== null && end !== "complete" && <Badge tone="warn">{end}</Badge>}
      {direction === "output" && question !== null && <Badge>question</Badge>}
      {isReplaced && <Badge tone="warn">replaced</Badge>}
      <InputState row={row} {...input} />
    </>
  );
}

/** Whether it waits for a run to receive it, and so can be taken back, or has been. */
function InputState({
  row: { first },
  isQueued,
  onWithdraw,
}: Pick<RowProps, "row" | "isQueued" | "onWithdraw">): ReactNode {
  if (first.withdrawn_at !== undefined) return <Badge>withdrawn</Badge>;
  if (!isQueued) return null;
  return (
    <>
      <Badge>{first.steer === true ? "steers" : "queued"}</Badge>
      <button type="button" className="text-accent hover:underline" onClick={() => onWithdraw(first)}>
        Withdraw
      </button>
    </>
  );
}

/** Who appended it. */
function Sender({ row }: { row: Row }): ReactNode {
  const user = useUser();
  const { kind, id } = row.first.source;
  switch (kind) {
    case "api":
      return id === user.id ? "You" : id?.startsWith("key_") === true ? "API key" : "Another user";
    case "public_access_token":
      return "Browser";
    case "run":
      return "Run";
    case "schedule":
      return "Schedule";
  }
}
