import type { Run } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState, type ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import { useItem } from "../../api/use-item.ts";
import { Loading } from "../../ui/async.tsx";
import type { Tone } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { describeDuration } from "../../ui/describe-time.ts";
import { useNow } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { layOutTimeline, ticksOf, type Bar, type BarKind, type TimelineLayout } from "./lay-out-timeline.ts";
import type { RunEvents } from "./run-events.ts";
import type { RunPage } from "./run-list.ts";

const ROW_PX = 30;
const CHILDREN = 200;
const GRID =
  "grid grid-cols-[9rem_minmax(0,1fr)_5rem] items-center gap-x-3 px-3 sm:grid-cols-[14rem_minmax(0,1fr)_6rem]";

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
export function Timeline({ run, events }: { run: Run; events: RunEvents }): ReactNode {
  const { environment_id } = usePlace();
  const isLive = !isTerminalRunStatus(run.status);
  const { data: page } = useItem<RunPage>("/api/runs", {
    query: { parent_run_id: run.id, limit: CHILDREN },
    refetchMs: isLive || run.finished_at === null ? 2000 : undefined,
  });
  const nowMs = useNow();
  const layout = layOutTimeline(events.all, page?.runs ?? [], nowMs);
  if (layout.bars.length === 0) return <Loading />;
  return (
    <div className="flex h-full min-h-80 flex-col gap-2">
      <Bars layout={layout} nowMs={nowMs} environmentId={environment_id} />
      {(page?.runs.length ?? 0) > 0 && (
        <Link
          to="/e/$environmentId/runs"
          params={{ environmentId: environment_id }}
          search={{ parent_run_id: run.id }}
          className="shrink-0 text-sm text-accent hover:underline"
        >
          {page?.next_cursor === null
            ? "Its child runs as a list"
            : `All child runs; the newest ${CHILDREN} are shown`}
        </Link>
      )}
    </div>
  );
}

const clock = (ms: number): string => new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");

/** Exactly when, and how long. */
const describeBar = ({ fromMs, toMs }: Bar, nowMs: number): string =>
  `${clock(fromMs)} – ${toMs === null ? "now" : clock(toMs)}, ${describeDuration(Math.max(0, (toMs ?? nowMs) - fromMs))}`;

const share = ({ fromMs, toMs }: TimelineLayout, ms: number): string => `${(100 * ms) / (toMs - fromMs)}%`;

function Bars({
  layout,
  nowMs,
  environmentId,
}: {
  layout: TimelineLayout;
  nowMs: number;
  environmentId: string;
}): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const { bars } = layout;
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
      <Axis layout={layout} pointed={bars.find(({ key }) => key === pointed)} nowMs={nowMs} />
      <ol className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const bar = bars[index];
          if (bar === undefined) return null;
          return (
            <BarRow
              key={bar.key}
              bar={bar}
              index={index}
              layout={layout}
              top={start}
              nowMs={nowMs}
              environmentId={environmentId}
              onPoint={setPointed}
            />
          );
        })}
      </ol>
    </div>
  );
}

/** Stays in sight, with exactly when what is pointed at was. */
function Axis({
  layout,
  pointed,
  nowMs,
}: {
  layout: TimelineLayout;
  pointed: Bar | undefined;
  nowMs: number;
}): ReactNode {
  const { fromMs, toMs } = layout;
  const lengthMs = toMs - fromMs;
  return (
    <div className="sticky top-0 z-[5] border-b border-line bg-raised py-1.5 text-xs text-quiet">
      <div className={GRID}>
        <span className="tabular-nums">{describeDuration(lengthMs)} in all</span>
        <span aria-hidden className="relative block h-4">
          {ticksOf(lengthMs).map((tick) => (
            <span
              key={tick}
              className="absolute border-l border-line pl-1 whitespace-nowrap"
              style={{ left: share(layout, tick) }}
            >
              <span className="max-sm:hidden">{tick === 0 ? "0" : describeTick(tick)}</span>
            </span>
          ))}
        </span>
        <span className="text-right">Took</span>
      </div>
      <p className="truncate px-3 pt-1 font-mono" aria-live="off">
        {pointed === undefined
          ? `From ${clock(fromMs)}`
          : `${visibleText(pointed.label)}: ${describeBar(pointed, nowMs)}`}
      </p>
    </div>
  );
}

type BarRowProps = {
  bar: Bar;
  index: number;
  layout: TimelineLayout;
  top: number;
  nowMs: number;
  environmentId: string;
  onPoint: (key: string) => void;
};

function BarRow({ bar, index, layout, top, nowMs, environmentId, onPoint }: BarRowProps): ReactNode {
  const { key, kind, label, tone, runId } = bar;
  const tookMs = Math.max(0, (bar.toMs ?? nowMs) - bar.fromMs);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- pointing does nothing but repeat exactly what the row says
    <li
      aria-posinset={index + 1}
      aria-setsize={layout.bars.length}
      tabIndex={0}
      title={describeBar(bar, nowMs)}
      className={cx(
        GRID,
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
            left: `min(${share(layout, bar.fromMs - layout.fromMs)}, 100% - 3px)`,
            width: share(layout, tookMs),
          }}
        />
      </span>
      <span className="text-right text-xs tabular-nums">
        {describeDuration(tookMs)}
        <span className="sr-only">
          , from {describeDuration(bar.fromMs - layout.fromMs)} after the beginning
          {bar.toMs === null && ", still under way"}
        </span>
      </span>
    </li>
  );
}

/** Round times need no second figure. */
const describeTick = (ms: number): string =>
  describeDuration(ms)
    .replace(/\.0 s$/, " s")
    .replace(/ 0 (s|min|h)$/, "");
