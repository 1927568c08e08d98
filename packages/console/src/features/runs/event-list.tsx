import type { RunEvent } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Empty } from "../../ui/empty.tsx";
import { inputClass } from "../../ui/field.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { absoluteTime } from "../../ui/time.tsx";
import { useVirtualRows, VirtualList } from "../../ui/virtual-list.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { filterEvents } from "./filter-events.ts";
import type { RunEvents } from "./run-events.ts";
import type { RunSearch } from "./run-search.ts";

const TONES: Record<RunEvent["severity"], Tone> = {
  debug: "neutral",
  info: "neutral",
  warn: "warn",
  error: "bad",
};
const KINDS = ["run", "step", "wait", "output", "metadata", "checkpoint", "lease"] as const;
const ROW_PX = 33;

type EventListProps = { events: RunEvents; search: RunSearch; onChange: (search: RunSearch) => void };

/** What happened to the run, oldest first; of any number, those in sight. */
export function EventList({ events, search, onChange }: EventListProps): ReactNode {
  const [openId, setOpenId] = useState<string | null>(null);
  const { kind, severity } = search;
  const shown = filterEvents(events.all, { kind, severity });
  const list = useVirtualRows(shown, ({ id }) => id, ROW_PX, { overscan: 12 });
  return (
    <div className="flex h-full min-h-80 flex-col gap-2">
      <EventFilters events={events} shown={shown.length} search={search} onChange={onChange} />
      {shown.length === 0 ? (
        <Empty title={events.all.length === 0 ? "No events yet" : "No events match these filters"} />
      ) : (
        <VirtualList
          label="Events"
          list={list}
          className="overflow-auto rounded-lg border border-line bg-surface outline-offset-[-2px]"
          rowClassName="border-b border-line"
        >
          {(event) => (
            <EventRow
              event={event}
              isOpen={openId === event.id}
              onToggle={() => setOpenId(openId === event.id ? null : event.id)}
            />
          )}
        </VirtualList>
      )}
    </div>
  );
}

function EventFilters({ events, shown, search, onChange }: EventListProps & { shown: number }): ReactNode {
  const total = events.all.length + events.dropped;
  const select = (name: "kind" | "severity", label: string, values: readonly string[]): ReactNode => (
    <select
      aria-label={label}
      className={inputClass}
      style={{ width: "auto" }}
      value={search[name] ?? ""}
      onChange={({ target }) => {
        const { [name]: _, ...others } = search;
        onChange(target.value === "" ? others : { ...others, [name]: target.value });
      }}
    >
      {values.map((value) => (
        <option key={value} value={value}>
          {value === ""
            ? name === "kind"
              ? "All kinds"
              : "All severities"
            : name === "kind"
              ? `${value}.*`
              : `${value} and worse`}
        </option>
      ))}
    </select>
  );
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2">
      {select("kind", "Kind", ["", ...KINDS])}
      {select("severity", "Severity", ["", "info", "warn", "error"])}
      <span className="text-xs text-quiet tabular-nums">
        {shown.toLocaleString()} of {total.toLocaleString()} events
        {events.dropped > 0 && ", the oldest are not shown"}
      </span>
    </div>
  );
}

const hasMore = ({ attributes }: RunEvent): boolean => Object.keys(attributes).length > 0;

function EventRow({
  event,
  isOpen,
  onToggle,
}: {
  event: RunEvent;
  isOpen: boolean;
  onToggle: () => void;
}): ReactNode {
  const { id, at, kind, severity, message, attempt_number: attempt } = event;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        className="grid w-full grid-cols-[6.5rem_minmax(0,1fr)] items-center gap-x-3 px-3 py-1.5 text-left hover:bg-raised sm:grid-cols-[3.5rem_6.5rem_9.5rem_minmax(0,1fr)_2.5rem]"
        onClick={onToggle}
      >
        <span className="hidden font-mono text-xs text-quiet sm:block">{id}</span>
        <time dateTime={at} title={absoluteTime(at)} className="font-mono text-xs text-quiet">
          {at.slice(11, 23)}
        </time>
        <span className="hidden sm:block">
          <Badge tone={TONES[severity]}>{kind}</Badge>
        </span>
        <bdi className="truncate">{visibleText(message)}</bdi>
        <span className="hidden text-right text-xs text-quiet sm:block" title="Attempt">
          {attempt === null ? "" : `#${attempt}`}
        </span>
      </button>
      {isOpen && (
        <div className="flex flex-col gap-2 px-3 pb-3">
          <p className="text-xs break-words">
            <Badge tone={TONES[severity]}>{severity}</Badge> {kind}: <bdi>{visibleText(message)}</bdi>
          </p>
          {hasMore(event) ? (
            <JsonView value={event.attributes} label="Attributes" />
          ) : (
            <p className="text-xs text-quiet">No attributes.</p>
          )}
        </div>
      )}
    </>
  );
}
