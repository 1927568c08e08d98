import type { Run } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState, type ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import { useItem } from "../../api/use-item.ts";
import { listRuns } from "../../api/routes/runs.ts";
import { Loading } from "../../ui/async.tsx";
import type { Tone } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { CheckField } from "../../ui/field.tsx";
import { describeDuration } from "../../ui/describe-time.ts";
import { useNow } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { layOutTimeline, type Bar, type BarKind } from "./lay-out-timeline.ts";
import type { RunEvents } from "./run-events.ts";
import type { RunSearch } from "./run-search.ts";
import { axisOf, idleStretches, placeOf, type Axis, type Stretch } from "./time-axis.ts";
import { clock, FoldMarks, percent, TIMELINE_GRID, TimelineAxis } from "./timeline-axis.tsx";

const ROW_PX = 30;
const CHILDREN = 200;
const KIND_NAMES: Record<BarKind, string> = {
  queued: "",
  delayed: "",
  attempt: "",
  suspended: "",
  step: "step",
  wait: "wait",
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

/** What took how long, on one axis: states and attempts of the run, its steps and waits, and the runs it started. */
export function Timeline({
  run,
  events,
  search,
  onChange,
}: {
  run: Run;
  events: RunEvents;
  search: RunSearch;
  onChange: (search: RunSearch) => void;
}): ReactNode {
  const { environment_id } = usePlace();
  const isLive = !isTerminalRunStatus(run.status);
  const { data: page } = useItem(listRuns, {
    query: { parent_run_id: run.id, limit: CHILDREN },
    refetchMs: isLive || run.finished_at === null ? 2000 : undefined,
  });
  const nowMs = useNow();
  const layout = layOutTimeline(events.all, page?.runs ?? [], nowMs);
  if (layout.bars.length === 0) return <Loading />;
  const idle = idleStretches(layout);
  const { fold: isFolded = true, ...others } = search;
  return (
    <div className="flex h-full min-h-80 flex-col gap-2">
      {idle.length > 0 && (
        <FoldToggle
          idle={idle}
          isFolded={isFolded}
          onToggle={() => onChange(isFolded ? { ...others, fold: false } : others)}
        />
      )}
      <Bars
        bars={layout.bars}
        axis={axisOf(layout, isFolded ? idle : [])}
        nowMs={nowMs}
        environmentId={environment_id}
      />
      {(page?.runs.length ?? 0) > 0 && (
        <Link
          to="/e/$environmentId/runs"
          params={{ environmentId: environment_id }}
          search={{ parent_run_id: run.id }}
          className="shrink-0 text-sm text-accent hover:underline"
        >
          {page?.next_cursor === null
            ? "Show child runs as a list"
            : `All child runs (newest ${CHILDREN} shown)`}
        </Link>
      )}
    </div>
  );
}

function FoldToggle({
  idle,
  isFolded,
  onToggle,
}: {
  idle: readonly Stretch[];
  isFolded: boolean;
  onToggle: () => void;
}): ReactNode {
  const idleMs = idle.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-3">
      <CheckField label="Fold idle time" checked={isFolded} onChange={onToggle} />
      <span className="text-xs text-quiet tabular-nums">
        {describeDuration(idleMs)}
        {idle.length > 1 && ` in ${idle.length} stretches`} without work
      </span>
    </div>
  );
}

/** Exactly when, and how long. */
const describeBar = ({ fromMs, toMs }: Bar, nowMs: number): string =>
  `${clock(fromMs)} – ${toMs === null ? "now" : clock(toMs)}, ${describeDuration(Math.max(0, (toMs ?? nowMs) - fromMs))}`;

function Bars({
  bars,
  axis,
  nowMs,
  environmentId,
}: {
  bars: readonly Bar[];
  axis: Axis;
  nowMs: number;
  environmentId: string;
}): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const pointedBar = bars.find(({ key }) => key === pointed);
  // oxlint-disable-next-line react/incompatible-library -- its rows are read at every render
  const rows = useVirtualizer({
    count: bars.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  return (
    <div
      ref={scroller}
      role="region"
      aria-label="Timeline"
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto rounded-lg border border-line bg-surface outline-offset-[-2px]"
    >
      <TimelineAxis
        axis={axis}
        said={
          pointedBar === undefined
            ? `From ${clock(axis.fromMs)}`
            : `${visibleText(pointedBar.label)}: ${describeBar(pointedBar, nowMs)}`
        }
      />
      <div className="relative">
        <ol className="relative" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const bar = bars[index];
            if (bar === undefined) return null;
            return (
              <BarRow
                key={bar.key}
                bar={bar}
                index={index}
                count={bars.length}
                axis={axis}
                top={start}
                nowMs={nowMs}
                environmentId={environmentId}
                onPoint={setPointed}
              />
            );
          })}
        </ol>
        <FoldMarks axis={axis} />
      </div>
    </div>
  );
}

type BarRowProps = {
  bar: Bar;
  index: number;
  count: number;
  axis: Axis;
  top: number;
  nowMs: number;
  environmentId: string;
  onPoint: (key: string) => void;
};

function BarRow({ bar, index, count, axis, top, nowMs, environmentId, onPoint }: BarRowProps): ReactNode {
  const { key, kind, label, tone, runId } = bar;
  const tookMs = Math.max(0, (bar.toMs ?? nowMs) - bar.fromMs);
  const place = placeOf(axis, bar.fromMs);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- pointing does nothing but repeat exactly what the row says
    <li
      aria-posinset={index + 1}
      aria-setsize={count}
      tabIndex={0}
      title={describeBar(bar, nowMs)}
      className={cx(
        TIMELINE_GRID,
        "absolute inset-x-0 h-[30px] border-b border-line outline-offset-[-2px] hover:bg-raised",
      )}
      style={{ top }}
      onFocus={() => onPoint(key)}
      onMouseEnter={() => onPoint(key)}
    >
      <span className="flex min-w-0 items-baseline gap-1.5">
        {KIND_NAMES[kind] !== "" && <span className="text-xs text-quiet">{KIND_NAMES[kind]}</span>}
        {runId === null ? (
          <bdi className="truncate">{visibleText(label)}</bdi>
        ) : (
          <Link
            to="/e/$environmentId/runs/$runId"
            params={{ environmentId, runId }}
            className="truncate text-accent hover:underline"
          >
            {label}
          </Link>
        )}
      </span>
      <span aria-hidden className="relative block h-full">
        <span
          data-bar={kind}
          className={cx(
            "absolute top-2 h-3.5 min-w-[3px] rounded-sm",
            FILLS[tone],
            (kind === "queued" || kind === "delayed" || kind === "suspended") && "opacity-40",
            bar.toMs === null && "animate-pulse",
          )}
          style={{
            left: `min(${percent(place)}, 100% - 3px)`,
            width: percent(placeOf(axis, bar.fromMs + tookMs) - place),
          }}
        />
      </span>
      <span className="text-right text-xs tabular-nums">
        {describeDuration(tookMs)}
        <span className="sr-only">
          , from {describeDuration(bar.fromMs - axis.fromMs)} after the beginning
          {bar.toMs === null && ", still under way"}
        </span>
      </span>
    </li>
  );
}
