import type { RunEvent } from "@keelson/contract";
import { X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { IconButton } from "../../../ui/button.tsx";
import { describeDuration } from "../../../ui/describe-time.ts";
import { JsonView } from "../../../ui/json-view.tsx";
import { Facts } from "../../../ui/page.tsx";
import { absoluteTime } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { Span } from "./span.ts";
import { SpanLog } from "./span-log.tsx";
import { SpanOutcome } from "./span-outcome.tsx";
import { KIND_NAMES, lengthOf } from "./span-row.tsx";

const MAX_EVENTS = 50;
const TONES: Partial<Record<RunEvent["severity"], Tone>> = { warn: "warn", error: "bad" };

/** One span: when it was, what went in and came out, and what was told and written meanwhile. */
export function SpanPanel({
  span,
  nowMs,
  onClose,
}: {
  span: Span;
  nowMs: number;
  onClose: () => void;
}): ReactNode {
  const { kind, label, attempt, events } = span;
  const name = KIND_NAMES[kind];
  return (
    <section
      aria-label="Details of the span"
      className="flex max-h-[60vh] min-w-0 shrink-0 flex-col gap-4 overflow-auto rounded-lg border border-line bg-surface p-3 lg:max-h-none lg:w-[27rem]"
    >
      <div className="flex items-start justify-between gap-2">
        <h2 className="min-w-0 font-semibold break-words">
          {name !== "" && <span className="font-normal text-quiet">{name} </span>}
          <bdi>{visibleText(label)}</bdi>
        </h2>
        <IconButton label="Close the details" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      <Facts
        rows={[
          ["Began", <Instant key="began" atMs={span.fromMs} />],
          ["Ended", span.toMs === null ? "still under way" : <Instant key="ended" atMs={span.toMs} />],
          ["Took", describeDuration(lengthOf(span, nowMs))],
          ...(attempt === null ? [] : [["Attempt", attempt] as const]),
        ]}
      />
      <SpanOutcome span={span} />
      {events.length > 0 && <SpanEvents events={events} />}
      <LogPart span={span} nowMs={nowMs} />
    </section>
  );
}

function Instant({ atMs }: { atMs: number }): ReactNode {
  const at = new Date(atMs).toISOString();
  return (
    <time dateTime={at} title={absoluteTime(at)} className="font-mono text-xs">
      {at.slice(11, 23)}
    </time>
  );
}

function SpanEvents({ events }: { events: readonly RunEvent[] }): ReactNode {
  return (
    <div className="flex flex-col gap-1.5">
      <h3 className="text-xs text-quiet">Events</h3>
      <ol aria-label="Events of the span" className="flex flex-col gap-1.5">
        {events.slice(-MAX_EVENTS).map(({ id, at, kind, severity, message, attributes }) => (
          <li key={id} className="flex flex-col gap-1">
            <span className="flex flex-wrap items-baseline gap-x-2">
              <time dateTime={at} title={absoluteTime(at)} className="font-mono text-xs text-quiet">
                {at.slice(11, 23)}
              </time>
              <Badge tone={TONES[severity] ?? "neutral"}>{kind}</Badge>
              <bdi className="min-w-0 break-words">{visibleText(message)}</bdi>
            </span>
            {Object.keys(attributes).length > 0 && (
              <details>
                <summary className="text-xs text-quiet">Attributes</summary>
                <JsonView value={attributes} label={`Attributes of event ${id}`} />
              </details>
            )}
          </li>
        ))}
      </ol>
      {events.length > MAX_EVENTS && (
        <p className="text-xs text-quiet">
          The last {MAX_EVENTS} of {events.length.toLocaleString()} are shown.
        </p>
      )}
    </div>
  );
}

/** Read once it is asked for: a log may be long. */
function LogPart({ span, nowMs }: { span: Span; nowMs: number }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="text-xs text-quiet">Log lines of this time</summary>
      {isOpen && <SpanLog runId={span.runId} fromMs={span.fromMs} toMs={span.toMs ?? nowMs} />}
    </details>
  );
}
