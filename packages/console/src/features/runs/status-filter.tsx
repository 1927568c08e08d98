import { RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { countRuns } from "../../api/routes/runs.ts";
import { cx } from "../../ui/class-names.ts";
import { Status } from "../../ui/status.tsx";
import type { RunFilters } from "./run-filters.ts";

const CHIP =
  "inline-flex items-center gap-1.5 rounded-md border px-2 py-1 text-xs whitespace-nowrap hover:bg-raised";

/** How many runs the environment has of each status. Choosing some shows only those. */
export function StatusFilter({
  filters,
  onChange,
}: {
  filters: RunFilters;
  onChange: (filters: RunFilters) => void;
}): ReactNode {
  const { data } = useItem(countRuns, { refetchMs: 2000 });
  const { status: chosen = [], ...others } = filters;
  const toggle = (status: RunStatus): void => {
    const next = chosen.includes(status) ? chosen.filter((one) => one !== status) : [...chosen, status];
    onChange(next.length === 0 ? others : { ...others, status: next });
  };
  const total = data === undefined ? undefined : Object.values(data.counts).reduce((sum, n) => sum + n, 0);
  return (
    <div
      role="group"
      aria-label="Status (counts of the whole environment)"
      className="flex shrink-0 gap-1.5 max-sm:-m-1 max-sm:overflow-x-auto max-sm:p-1 sm:flex-wrap"
    >
      <button
        type="button"
        aria-pressed={chosen.length === 0}
        className={cx(CHIP, chosen.length === 0 ? "border-accent" : "border-line")}
        onClick={() => onChange(others)}
      >
        All <Count value={total} />
      </button>
      {RUN_STATUSES.map((status) => (
        <button
          key={status}
          type="button"
          aria-pressed={chosen.includes(status)}
          className={cx(CHIP, chosen.includes(status) ? "border-accent" : "border-line")}
          onClick={() => toggle(status)}
        >
          <Status value={status} />
          <Count value={data?.counts[status]} />
        </button>
      ))}
    </div>
  );
}

/** as wide with one figure as with two: what counts up moves nothing beside it. */
const Count = ({ value }: { value: number | undefined }): ReactNode => (
  <span className="min-w-[2ch] text-right tabular-nums">
    {value === undefined
      ? "–"
      : value < 100_000
        ? value.toLocaleString()
        : `${Math.floor(value / 1000).toLocaleString()} k`}
  </span>
);
