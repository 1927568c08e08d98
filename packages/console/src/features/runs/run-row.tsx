import { memo, type ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Status } from "../../ui/status.tsx";
import { Duration, Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import type { RunRow } from "./run-list.ts";

/** One grid for the headings and every row, so that columns stand still whatever the rows hold. */
const GRID =
  "grid items-center gap-x-3 px-3 grid-cols-[8.5rem_minmax(0,1fr)_5rem] sm:grid-cols-[8.5rem_minmax(9rem,1.2fr)_minmax(0,1fr)_6rem_6rem] lg:grid-cols-[8.5rem_minmax(9rem,1.2fr)_minmax(0,1fr)_4.5rem_9rem_6rem_6rem]";

export const RUN_HEADINGS = (
  <div role="rowgroup" className="sticky top-0 z-[5]">
    <div
      role="row"
      aria-rowindex={1}
      className={cx(GRID, "border-b border-line bg-raised py-2 text-xs text-quiet")}
    >
      <span role="columnheader">Status</span>
      <span role="columnheader">Task</span>
      <span role="columnheader" className="hidden sm:block">
        Tags
      </span>
      <span role="columnheader" className="hidden text-right lg:block">
        Attempt
      </span>
      <span role="columnheader" className="hidden lg:block">
        Run
      </span>
      <span role="columnheader" className="hidden text-right sm:block">
        Created
      </span>
      <span role="columnheader" className="text-right">
        Took
      </span>
    </div>
  </div>
);

type RowProps = {
  id: string;
  row: RunRow;
  index: number;
  top: number;
  isSelected: boolean;
  environmentId: string;
  onSelect: (runId: string) => void;
};

export const RunRowView = memo(function RunRowView({
  id,
  row,
  index,
  top,
  isSelected,
  environmentId,
  onSelect,
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
      <span role="gridcell" className="hidden min-w-0 gap-1 overflow-hidden sm:flex">
        {row.tags.map((tag) => (
          <Badge key={tag}>
            <bdi className="max-w-40 truncate">{visibleText(tag)}</bdi>
          </Badge>
        ))}
      </span>
      <span role="gridcell" className="hidden text-right tabular-nums lg:block">
        {row.attempt_number === null ? "–" : `${row.attempt_number}/${row.max_attempts}`}
      </span>
      <span role="gridcell" className="hidden truncate font-mono text-xs text-quiet lg:block" title={row.id}>
        …{row.id.slice(-12)}
      </span>
      <span role="gridcell" className="hidden text-right sm:block">
        <Time at={row.created_at} />
      </span>
      <span role="gridcell" className="text-right">
        <Duration from={row.started_at} to={row.finished_at} />
      </span>
    </div>
  );
});
