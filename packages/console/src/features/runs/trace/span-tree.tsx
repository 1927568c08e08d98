import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode, type RefObject } from "react";
import { visibleText } from "../../../ui/visible-text.ts";
import { describeSpan, ROW_PX, SpanRow } from "./span-row.tsx";
import type { Axis } from "./time-axis.ts";
import { clock, FoldMarks, TimelineAxis } from "./trace-axis.tsx";
import type { VisibleSpan } from "./visible-spans.ts";

type SpanTreeProps = {
  rows: readonly VisibleSpan[];
  axis: Axis;
  nowMs: number;
  selected: string | null;
  onSelect: (key: string | null) => void;
  onOpen: (key: string, isOpen: boolean) => void;
};

/** The spans as a tree below their axis, with a bar each. */
export function SpanTree(props: SpanTreeProps): ReactNode {
  const { rows, axis, nowMs } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const pointedSpan = rows.find(({ span }) => span.key === pointed)?.span;
  return (
    <div
      ref={scroller}
      role="region"
      aria-label="Timeline"
      tabIndex={-1}
      className="min-h-60 min-w-0 flex-1 overflow-auto rounded-lg border border-line bg-surface outline-offset-[-2px]"
    >
      <TimelineAxis
        axis={axis}
        said={
          pointedSpan === undefined
            ? `From ${clock(axis.fromMs)}`
            : `${visibleText(pointedSpan.label)}: ${describeSpan(pointedSpan, nowMs)}`
        }
      />
      <div className="relative">
        <SpanRows {...props} scroller={scroller} onPoint={setPointed} />
        <FoldMarks axis={axis} />
      </div>
    </div>
  );
}

/** Those in sight. The arrow keys move among them, as in any tree; Enter shows what a span has. */
function SpanRows({
  rows,
  axis,
  nowMs,
  selected,
  onSelect,
  onOpen,
  scroller,
  onPoint,
}: SpanTreeProps & {
  scroller: RefObject<HTMLDivElement | null>;
  onPoint: (key: string) => void;
}): ReactNode {
  // oxlint-disable-next-line react/incompatible-library -- its rows are read at every render
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const { active, setActive, moveTo } = useActiveRow(rows, selected, scroller, (index) =>
    list.scrollToIndex(index),
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = rows.findIndex(({ span }) => span.key === active);
    const done = keyActions({ rows, index, moveTo, onOpen, onSelect })[event.key];
    if (done === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    done();
  };
  const renderRow = (row: VisibleSpan, top: number): ReactNode => {
    const { key } = row.span;
    return (
      <SpanRow
        key={key}
        {...{ row, axis, top, nowMs }}
        isActive={key === active}
        isSelected={key === selected}
        onPoint={() => onPoint(key)}
        onFocus={() => {
          onPoint(key);
          setActive(key);
        }}
        onSelect={() => {
          moveTo(key);
          onSelect(key === selected ? null : key);
        }}
        onOpen={(isOpen) => onOpen(key, isOpen)}
      />
    );
  };
  return (
    <ul
      role="tree"
      aria-label="Spans"
      className="relative"
      style={{ height: list.getTotalSize() }}
      onKeyDown={onKeyDown}
    >
      {list.getVirtualItems().map(({ index, start }) => {
        const row = rows[index];
        return row === undefined ? null : renderRow(row, start);
      })}
    </ul>
  );
}

/** The one row that the Tab key comes to, and how the focus goes to another, which may not be laid out yet. */
function useActiveRow(
  rows: readonly VisibleSpan[],
  selected: string | null,
  scroller: RefObject<HTMLDivElement | null>,
  scrollTo: (index: number) => void,
): { active: string | null; setActive: (key: string) => void; moveTo: (key: string) => void } {
  const [wanted, setWanted] = useState(selected);
  const toFocus = useRef<string | null>(null);
  const isThere = rows.some(({ span }) => span.key === wanted);
  const active = isThere ? wanted : (rows[0]?.span.key ?? null);
  useEffect(() => {
    const key = toFocus.current;
    if (key === null) return;
    const row = [...(scroller.current?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? [])].find(
      (element) => element.dataset["span"] === key,
    );
    row?.focus({ preventScroll: true });
    if (row !== undefined) toFocus.current = null;
  });
  const moveTo = (key: string): void => {
    setWanted(key);
    toFocus.current = key;
    scrollTo(rows.findIndex(({ span }) => span.key === key));
  };
  return { active, setActive: setWanted, moveTo };
}

/** What the keys of a tree do at the row with this index. */
function keyActions({
  rows,
  index,
  moveTo,
  onOpen,
  onSelect,
}: Pick<SpanTreeProps, "rows" | "onOpen" | "onSelect"> & {
  index: number;
  moveTo: (key: string) => void;
}): Partial<Record<string, () => void>> {
  const row = rows[index];
  if (row === undefined) return {};
  const { span, isOpen, parent } = row;
  const goTo = (place: number): void => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, place))];
    if (next !== undefined) moveTo(next.span.key);
  };
  return {
    ArrowDown: () => goTo(index + 1),
    ArrowUp: () => goTo(index - 1),
    Home: () => goTo(0),
    End: () => goTo(rows.length - 1),
    ArrowRight: () => {
      if (isOpen === false) onOpen(span.key, true);
      else if (isOpen === true) goTo(index + 1);
    },
    ArrowLeft: () => {
      if (isOpen === true) onOpen(span.key, false);
      else if (parent !== null) moveTo(parent.key);
    },
    Enter: () => onSelect(span.key),
    " ": () => onSelect(span.key),
    Escape: () => onSelect(null),
  };
}
