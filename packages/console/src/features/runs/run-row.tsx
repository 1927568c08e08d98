import { memo, type CSSProperties, type ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Status } from "../../ui/status.tsx";
import { Duration, Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { COLUMN_NAMES, gridTracks, isShownFrom, type RunColumn } from "./run-columns.ts";
import type { RunRow } from "./run-list.ts";

/** One grid for the headings and every row, so that columns stand still whatever the rows hold. */
const GRID =
  "grid items-center gap-x-3 px-3 grid-cols-[var(--cols)] sm:grid-cols-[var(--cols-sm)] lg:grid-cols-[var(--cols-lg)]";

const SHOWN = { always: "block", sm: "hidden sm:block", lg: "hidden lg:block" } as const;

const CELLS: Readonly<Record<RunColumn, string>> = {
  tags: "min-w-0 overflow-hidden whitespace-nowrap",
  error: "truncate text-bad",
  attempt: "text-right tabular-nums",
  run: "truncate font-mono text-xs text-quiet",
  created: "text-right",
  took: "text-right",
};
const NUMBERS: readonly RunColumn[] = ["attempt", "created", "took"];

/** The style that headings and rows share. */
export const columnStyle = (columns: readonly RunColumn[]): CSSProperties =>
  gridTracks(columns) as CSSProperties;

export const RunHeadings = ({ columns }: { columns: readonly RunColumn[] }): ReactNode => (
  <div role="rowgroup" className="sticky top-0 z-[5]">
    <div
      role="row"
      aria-rowindex={1}
      className={cx(GRID, "border-b border-line bg-raised py-2 text-xs text-quiet")}
    >
      <span role="columnheader">
        <span className="sr-only">Selected</span>
      </span>
      <span role="columnheader">Status</span>
      <span role="columnheader">Task</span>
      {columns.map((column) => (
        <span
          key={column}
          role="columnheader"
          className={cx(SHOWN[isShownFrom(column)], NUMBERS.includes(column) && "text-right")}
        >
          {COLUMN_NAMES[column]}
        </span>
      ))}
    </div>
  </div>
);

function cellOf(column: RunColumn, row: RunRow): ReactNode {
  switch (column) {
    case "tags":
      return (
        <span className="flex gap-1">
          {row.tags.map((tag) => (
            <Badge key={tag}>
              <bdi className="max-w-40 truncate">{visibleText(tag)}</bdi>
            </Badge>
          ))}
        </span>
      );
    case "error":
      return row.error === null ? null : <bdi title={row.error}>{visibleText(row.error)}</bdi>;
    case "attempt":
      return row.attempt_number === null ? "–" : `${row.attempt_number}/${row.max_attempts}`;
    case "run":
      return <span title={row.id}>…{row.id.slice(-12)}</span>;
    case "created":
      return <Time at={row.created_at} />;
    case "took":
      return <Duration from={row.started_at} to={row.finished_at} />;
  }
}

type RowProps = {
  id: string;
  row: RunRow;
  columns: readonly RunColumn[];
  index: number;
  top: number;
  isSelected: boolean;
  isChecked: boolean;
  environmentId: string;
  onSelect: (runId: string) => void;
  onCheck: (runId: string, isChecked: boolean) => void;
};

export const RunRowView = memo(function RunRowView({
  id,
  row,
  columns,
  index,
  top,
  isSelected,
  isChecked,
  environmentId,
  onSelect,
  onCheck,
}: RowProps): ReactNode {
  return (
    <div
      role="row"
      id={id}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={cx(
        GRID,
        "absolute inset-x-0 h-9 border-b border-line hover:bg-raised",
        isSelected && "bg-accent-ground",
      )}
      style={{ top }}
      onMouseDown={() => onSelect(row.id)}
    >
      <span role="gridcell" className="flex">
        <input
          type="checkbox"
          aria-label={`Select run ${row.id}`}
          tabIndex={-1}
          checked={isChecked}
          onChange={({ target }) => onCheck(row.id, target.checked)}
        />
      </span>
      <span role="gridcell">
        <Status value={row.status} />
      </span>
      <span role="gridcell" className="min-w-0">
        {/* A router's link each would be most of the work of scrolling; the grid takes plain clicks. */}
        <a
          href={`/e/${environmentId}/runs/${row.id}`}
          data-run={row.id}
          tabIndex={-1}
          className="block truncate font-medium hover:underline"
        >
          {row.task ?? row.actor}
        </a>
      </span>
      {columns.map((column) => (
        <span key={column} role="gridcell" className={cx(SHOWN[isShownFrom(column)], CELLS[column])}>
          {cellOf(column, row)}
        </span>
      ))}
    </div>
  );
});
