import { ChevronDown, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import type { Tone } from "../../../ui/badge.tsx";
import { cx } from "../../../ui/class-names.ts";
import { describeDuration } from "../../../ui/describe-time.ts";
import { visibleText } from "../../../ui/visible-text.ts";
import type { Span, SpanKind } from "./span.ts";
import { placeOf, type Axis } from "./time-axis.ts";
import { clock, percent, TIMELINE_GRID } from "./trace-axis.tsx";
import type { VisibleSpan } from "./visible-spans.ts";

export const ROW_PX = 30;
const INDENT_PX = 14;
/** Deeper ones are no further in: their names would have no room. */
const MAX_INDENTS = 6;

export const KIND_NAMES: Record<SpanKind, string> = {
  queued: "",
  delayed: "",
  attempt: "",
  suspended: "",
  step: "step",
  try: "",
  wait: "wait",
  output: "output",
  token: "token",
  child: "run",
};
const FILLS: Record<Tone, string> = {
  neutral: "bg-quiet",
  good: "bg-good",
  bad: "bg-bad",
  warn: "bg-warn",
  info: "bg-info",
  accent: "bg-accent",
};
const IDLE: readonly SpanKind[] = ["queued", "delayed", "suspended"];

/** Milliseconds, so far where it goes on. */
export const lengthOf = ({ fromMs, toMs }: Span, nowMs: number): number =>
  Math.max(0, (toMs ?? nowMs) - fromMs);

/** Exactly when, and how long. */
export const describeSpan = (span: Span, nowMs: number): string =>
  `${clock(span.fromMs)} – ${span.toMs === null ? "now" : clock(span.toMs)}, ${describeDuration(lengthOf(span, nowMs))}`;

export function SpanRow({
  row: { span, level, place, siblings, isOpen },
  axis,
  top,
  nowMs,
  isActive,
  isSelected,
  onPoint,
  onFocus,
  onSelect,
  onOpen,
}: {
  row: VisibleSpan;
  axis: Axis;
  top: number;
  nowMs: number;
  /** The Tab key comes here. */
  isActive: boolean;
  isSelected: boolean;
  onPoint: () => void;
  onFocus: () => void;
  onSelect: () => void;
  onOpen: (isOpen: boolean) => void;
}): ReactNode {
  return (
    <li
      role="treeitem"
      data-span={span.key}
      aria-level={level}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-selected={isSelected}
      {...(isOpen !== null && { "aria-expanded": isOpen })}
      tabIndex={isActive ? 0 : -1}
      title={describeSpan(span, nowMs)}
      className={cx(
        TIMELINE_GRID,
        "absolute inset-x-0 h-[30px] cursor-pointer border-b border-line outline-offset-[-2px] hover:bg-raised",
        isSelected && "bg-raised",
      )}
      style={{ top }}
      onFocus={onFocus}
      onMouseEnter={onPoint}
      onClick={onSelect}
    >
      <span
        className="flex min-w-0 items-baseline gap-1.5"
        style={{ paddingInlineStart: Math.min(MAX_INDENTS, level - 1) * INDENT_PX }}
      >
        <Toggle isOpen={isOpen} onOpen={onOpen} />
        {KIND_NAMES[span.kind] !== "" && <span className="text-xs text-quiet">{KIND_NAMES[span.kind]}</span>}
        <bdi className="truncate">{visibleText(span.label)}</bdi>
        {span.kind === "step" && span.parts.length > 1 && (
          <span className="text-xs whitespace-nowrap text-quiet">{span.parts.length} tries</span>
        )}
      </span>
      <SpanBar span={span} axis={axis} nowMs={nowMs} />
      <span className="text-right text-xs tabular-nums">
        {describeDuration(lengthOf(span, nowMs))}
        <span className="sr-only">
          , from {describeDuration(span.fromMs - axis.fromMs)} after the beginning
          {span.toMs === null && ", still under way"}
        </span>
      </span>
    </li>
  );
}

/** For the mouse: the tree itself has a key for it. */
function Toggle({
  isOpen,
  onOpen,
}: {
  isOpen: boolean | null;
  onOpen: (isOpen: boolean) => void;
}): ReactNode {
  const Icon = isOpen === true ? ChevronDown : ChevronRight;
  return (
    <span
      aria-hidden
      data-toggle
      className={cx("w-3.5 shrink-0 self-center text-quiet", isOpen === null && "invisible")}
      onClick={(event) => {
        if (isOpen === null) return;
        event.stopPropagation();
        onOpen(!isOpen);
      }}
    >
      <Icon size={14} />
    </span>
  );
}

function SpanBar({ span, axis, nowMs }: { span: Span; axis: Axis; nowMs: number }): ReactNode {
  const place = placeOf(axis, span.fromMs);
  return (
    <span aria-hidden className="relative block h-full">
      <span
        data-bar={span.kind}
        className={cx(
          "absolute top-2 h-3.5 min-w-[3px] rounded-sm",
          FILLS[span.tone],
          IDLE.includes(span.kind) && "opacity-40",
          span.toMs === null && "animate-pulse",
        )}
        style={{
          left: `min(${percent(place)}, 100% - 3px)`,
          width: percent(placeOf(axis, span.fromMs + lengthOf(span, nowMs)) - place),
        }}
      />
    </span>
  );
}
