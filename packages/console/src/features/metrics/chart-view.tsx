import {
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { useTheme } from "../../app/theme.ts";
import { Card } from "../../ui/page.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { isEmpty, type Chart, type Tone } from "./chart-series.ts";
import type { drawChart as DrawChart, DrawnChart } from "./draw-chart.ts";

const TEXT: Record<Tone, string> = {
  good: "text-good",
  bad: "text-bad",
  warn: "text-warn",
  info: "text-info",
  accent: "text-accent",
  quiet: "text-quiet",
};
const DASHES = { dashed: "6 4", dotted: "2 3" };

const MOMENT = new Intl.DateTimeFormat(undefined, {
  ...{ weekday: "short", month: "short", day: "numeric" },
  ...{ hour: "2-digit", minute: "2-digit" },
});
const momentOf = (seconds: number): string => MOMENT.format(new Date(seconds * 1_000));

/** What a chart says of one time, for whoever points at it, listens to it or moves to it by the keyboard. */
export function describePoint({ times, series, describe }: Chart, index: number): string {
  const parts = series.map(({ label, values }) => {
    const value = values[index];
    return `${label} ${value === null || value === undefined ? "–" : describe(value)}`;
  });
  return `${momentOf(times[index] ?? 0)}: ${parts.join(", ")}`;
}

/** A chart with its lines' names, the values of one time, and the same figures as a table. */
export function ChartView({ chart }: { chart: Chart }): ReactNode {
  const [chosen, setChosen] = useState<number | null>(null);
  const last = chart.times.length - 1;
  const shown = Math.min(chosen ?? last, last);
  const said = describePoint(chart, shown);
  return (
    <Card className="flex min-w-0 flex-col gap-2">
      <h3 className="font-medium">{chart.title}</h3>
      <p className="min-h-10 text-xs text-quiet">{chart.summary}</p>
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${chart.title}, by time`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={shown}
        aria-valuetext={said}
        onKeyDown={(event) => setChosen(moveBy(event, shown, last))}
        onPointerLeave={() => setChosen(null)}
        onBlur={() => setChosen(null)}
      >
        <Lines chart={chart} chosen={chosen} onPoint={setChosen} />
      </div>
      <p aria-hidden className="min-h-8 text-xs tabular-nums">
        {said}
      </p>
      <Values chart={chart} />
    </Card>
  );
}

function moveBy(event: KeyboardEvent, at: number, last: number): number {
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
  if (to === undefined) return at;
  event.preventDefault();
  return Math.max(0, Math.min(last, to));
}

type LinesProps = { chart: Chart; chosen: number | null; onPoint: (index: number | null) => void };

function Lines({ chart, chosen, onPoint }: LinesProps): ReactNode {
  const names = useRef<HTMLDivElement>(null);
  const look = useLook();
  return (
    <>
      <div ref={names} aria-hidden className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {chart.series.map(({ label, tone, dash }) => (
          <span key={label} className="inline-flex items-center gap-1.5">
            <svg data-line width={20} height={8} className={TEXT[tone]}>
              <line
                x1={0}
                x2={20}
                y1={4}
                y2={4}
                stroke="currentColor"
                strokeWidth={2}
                {...(dash !== undefined && { strokeDasharray: DASHES[dash] })}
              />
            </svg>
            {label}
          </span>
        ))}
      </div>
      <div className="relative mt-1">
        <Canvas key={look} chart={chart} chosen={chosen} onPoint={onPoint} names={names} />
        {isEmpty(chart) && (
          <p className="absolute inset-x-0 top-14 text-center text-quiet">
            <span className="bg-surface px-2 py-1">{chart.empty}</span>
          </p>
        )}
      </div>
    </>
  );
}

/** The drawing's code comes when it is first needed; its place has the right size before. */
function Canvas({
  chart,
  chosen,
  onPoint,
  names,
}: LinesProps & { names: RefObject<HTMLDivElement | null> }): ReactNode {
  const root = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<DrawnChart | null>(null);
  const draw = useEffectEvent((drawChart: typeof DrawChart): DrawnChart | null =>
    root.current === null ? null : drawChart(root.current, chart, colorsOf(names.current), onPoint),
  );
  useEffect(() => {
    let made: DrawnChart | null = null;
    let isGone = false;
    void import("./draw-chart.ts").then(({ drawChart }) => {
      if (!isGone) setDrawn((made = draw(drawChart)));
    });
    return () => {
      isGone = true;
      made?.remove();
    };
  }, []);
  useEffect(() => drawn?.show(chart), [drawn, chart]);
  useEffect(() => drawn?.point(chosen), [drawn, chosen]);
  return <div ref={root} className="h-44 w-full overflow-hidden" />;
}

/** Changes when the page's colours do. */
function useLook(): string {
  const theme = useTheme();
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const listen = (): void => setDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return `${theme} ${isDark}`;
}

function colorsOf(names: HTMLElement | null) {
  const body = getComputedStyle(document.body);
  const lines = [...(names?.querySelectorAll("[data-line]") ?? [])];
  const probe = document.createElement("span");
  probe.className = "text-quiet border-line";
  document.body.append(probe);
  const { color: axis, borderTopColor: grid } = getComputedStyle(probe);
  const colors = {
    series: lines.map((line) => getComputedStyle(line).color),
    axis: axis === "" ? body.color : axis,
    grid,
  };
  probe.remove();
  return colors;
}

type Row = { time: number; index: number };

/** The same figures, the newest first; times without any are left out. */
function Values({ chart }: { chart: Chart }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const columns: Column<Row>[] = [
    { heading: "Since", cell: ({ time }) => momentOf(time) },
    ...chart.series.map(({ label, values }) => ({
      heading: label,
      isNumber: true,
      cell: ({ index }: Row) => {
        const value = values[index];
        return value === null || value === undefined ? "–" : chart.describe(value);
      },
    })),
  ];
  const rows = chart.times
    .map((time, index) => ({ time, index }))
    .filter(({ index }) => chart.series.some(({ values }) => (values[index] ?? 0) > 0));
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="text-xs text-quiet">
        As a table<span className="sr-only">: {chart.title}</span>
      </summary>
      {isOpen && (
        <div className="mt-2 max-h-72 overflow-y-auto">
          {rows.length === 0 ? (
            <p className="text-quiet">{chart.empty}</p>
          ) : (
            <Table
              label={`${chart.title} as a table`}
              columns={columns}
              rows={rows.toReversed()}
              rowKey={({ time }) => String(time)}
            />
          )}
        </div>
      )}
    </details>
  );
}
