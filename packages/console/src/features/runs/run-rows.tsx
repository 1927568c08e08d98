import type { RunStatus } from "@keelson/contract/plain";
import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { ArrowUp } from "lucide-react";
import {
  useEffect,
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
} from "react";
import { usePlace } from "../../api/place.ts";
import { pageAddress } from "../../app/navigation.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import type { RunColumn } from "./run-columns.ts";
import { columnStyle, RunHeadings, RunRowView } from "./run-row.tsx";
import type { LoadedRuns } from "./use-run-list.ts";

const ROW_PX = 36;
/** This many rows before the last one, the next page is asked for. */
const ROWS_AHEAD = 150;

type RowsProps = LoadedRuns & {
  statuses: readonly RunStatus[] | undefined;
  columns: readonly RunColumn[];
  checked: ReadonlySet<string>;
  onCheck: (runId: string, isChecked: boolean) => void;
};

/** Any number of rows of which only the seen ones are there. What is new moves nothing unless the top is looked at. */
export function RunRows({ list, statuses, loadOlder, olderError, setSeen, ...row }: RowsProps): ReactNode {
  const { columns, checked, onCheck } = row;
  const { environment_id } = usePlace();
  const navigate = useNavigate();
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtTop, setIsAtTop] = useState(true);
  const { length, cursor, newCount } = list;
  // oxlint-disable-next-line react/incompatible-library -- its rows are read at every render
  const rows = useVirtualizer({
    count: length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const open = (runId: string | null): void =>
    void (runId !== null && navigate({ to: pageAddress(`/e/${environment_id}`, `runs/${runId}`) }));
  const { startIndex: from, endIndex: to } = rows.range ?? { startIndex: 0, endIndex: 0 };

  useEffect(() => {
    setSeen(from, to + 1);
    if (to + ROWS_AHEAD >= length) loadOlder();
  }, [from, to, length, cursor, setSeen, loadOlder]);
  useEffect(() => {
    if (isAtTop && newCount !== 0) list.showNew(statuses);
  }, [isAtTop, newCount, list, statuses]);

  const { selected, selectedIndex, setSelected, onKey } = useSelection(list, {
    from,
    to,
    onScrollTo: (index) => rows.scrollToIndex(index),
    onOpen: open,
    onToggle: (runId) => onCheck(runId, !checked.has(runId)),
  });
  const showTop = (): void => {
    list.showNew(statuses);
    goToTop(scroller.current);
  };

  return (
    <div className="relative min-h-40 flex-1 overflow-hidden rounded-lg border border-line bg-surface">
      <NewRuns count={isAtTop ? 0 : newCount} onShow={showTop} />
      <div
        ref={scroller}
        role="grid"
        aria-label="Runs"
        aria-rowcount={cursor === null ? length + 1 : -1}
        aria-activedescendant={selectedIndex >= from && selectedIndex <= to ? `${id}-${selected}` : undefined}
        tabIndex={0}
        style={columnStyle(columns)}
        className="h-full overflow-auto outline-offset-[-2px] [overflow-anchor:none]"
        onKeyDown={onKey}
        onClick={(event) => open(clickedRun(event))}
        onScroll={({ currentTarget }) => setIsAtTop(currentTarget.scrollTop < ROW_PX / 2)}
      >
        <RunHeadings columns={columns} />
        <div role="rowgroup" className="relative" style={{ height: rows.getTotalSize() }}>
          <SeenRows
            {...row}
            {...{ list, selected, idPrefix: id, environmentId: environment_id }}
            items={rows.getVirtualItems()}
            onSelect={setSelected}
          />
        </div>
        {cursor !== null && <OlderRows error={olderError} onRetry={loadOlder} />}
      </div>
    </div>
  );
}

function goToTop(scroller: HTMLElement | null): void {
  scroller?.scrollTo({ top: 0 });
  scroller?.focus({ preventScroll: true });
}

type SeenRowsProps = {
  items: readonly VirtualItem[];
  list: LoadedRuns["list"];
  columns: readonly RunColumn[];
  idPrefix: string;
  selected: string | null;
  environmentId: string;
  onSelect: (runId: string) => void;
  checked: ReadonlySet<string>;
  onCheck: (runId: string, isChecked: boolean) => void;
};

const SeenRows = ({
  items,
  list,
  columns,
  idPrefix,
  selected,
  environmentId,
  onSelect,
  checked,
  onCheck,
}: SeenRowsProps): ReactNode =>
  items.map(({ index, start }) => {
    const row = list.at(index);
    if (row === undefined) return null;
    return (
      <RunRowView
        key={row.id}
        id={`${idPrefix}-${row.id}`}
        row={row}
        columns={columns}
        index={index}
        top={start}
        isSelected={row.id === selected}
        environmentId={environmentId}
        onSelect={onSelect}
        isChecked={checked.has(row.id)}
        onCheck={onCheck}
      />
    );
  });

type Selection = {
  selected: string | null;
  selectedIndex: number;
  setSelected: (runId: string) => void;
  onKey: (event: KeyboardEvent) => void;
};

/** The row that keys move from and open. It is a run's, whatever comes above it. */
function useSelection(
  list: LoadedRuns["list"],
  where: {
    from: number;
    to: number;
    onScrollTo: (index: number) => void;
    onOpen: (runId: string) => void;
    onToggle: (runId: string) => void;
  },
): Selection {
  const [selected, setSelected] = useState<string | null>(null);
  const { from, to, onScrollTo, onOpen, onToggle } = where;
  const { length } = list;
  const selectedIndex = indexOf(list, selected, from);
  const onKey = (event: KeyboardEvent): void => {
    const next = nextIndex(event, { selected: selectedIndex, from, to, length });
    if (next !== null) {
      const index = Math.max(0, Math.min(next, length - 1));
      setSelected(list.at(index)?.id ?? null);
      onScrollTo(index);
    } else if (event.key === "Enter" && selected !== null) onOpen(selected);
    else if (event.key === "x" && selected !== null) onToggle(selected);
    else return;
    event.preventDefault();
  };
  return { selected, selectedIndex, setSelected, onKey };
}

/** Which row a key goes to; null: it goes to none. */
function nextIndex(
  { key, ctrlKey, metaKey, altKey }: KeyboardEvent,
  { selected, from, to, length }: { selected: number; from: number; to: number; length: number },
): number | null {
  if (ctrlKey || metaKey || altKey) return null;
  const page = Math.max(1, to - from - 1);
  if (key === "j" || key === "ArrowDown") return selected + 1;
  if (key === "k" || key === "ArrowUp") return selected - 1;
  if (key === "PageDown") return Math.max(selected, from) + page;
  if (key === "PageUp") return Math.max(selected, 0) - page;
  if (key === "Home") return 0;
  return key === "End" ? length - 1 : null;
}

/** The run whose link was clicked, which then is not followed by the browser; null: none, or into a new window. */
function clickedRun(event: MouseEvent): string | null {
  const link = event.target instanceof Element ? event.target.closest("[data-run]") : null;
  const runId = link?.getAttribute("data-run") ?? null;
  if (runId === null || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return null;
  event.preventDefault();
  return runId;
}

/** What came meanwhile. Always there, so that readers of the screen hear of it. */
function NewRuns({ count, onShow }: { count: number | null; onShow: () => void }): ReactNode {
  return (
    <div role="status" className="absolute inset-x-0 top-10 z-10 flex h-0 justify-center">
      {count !== 0 && (
        <Button
          kind="primary"
          icon={<ArrowUp size={14} aria-hidden />}
          className="h-8 shadow"
          onClick={onShow}
        >
          {count === null ? "Many new runs" : count === 1 ? "1 new run" : `${count} new runs`}
        </Button>
      )}
    </div>
  );
}

function OlderRows({ error, onRetry }: { error: unknown; onRetry: () => void }): ReactNode {
  if (error === null) return <p className="sticky left-0 p-3 text-center text-quiet">Loading older runs …</p>;
  return (
    <div className="sticky left-0 p-3">
      <ErrorPanel error={error} onRetry={onRetry} />
    </div>
  );
}

/** Where the selected row is now: rows that came above it move it. -1, just before the first seen one, when none is. */
function indexOf(list: LoadedRuns["list"], selected: string | null, from: number): number {
  if (selected === null) return from - 1;
  let low = 0;
  let high = list.length;
  // Newest first, which is the order of ids.
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list.at(middle)?.id ?? "") > selected) low = middle + 1;
    else high = middle;
  }
  return list.at(low)?.id === selected ? low : low - 1;
}
