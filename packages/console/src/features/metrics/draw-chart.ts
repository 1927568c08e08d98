import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Chart } from "./chart-series.ts";

/** Colours as the page shows them now: a canvas knows no style sheet. */
export type ChartColors = { series: readonly string[]; axis: string; grid: string };

export type DrawnChart = {
  show(chart: Chart): void;
  /** Marks a value; null: none. */
  point(index: number | null): void;
  remove(): void;
};

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const DAY_S = 86_400;
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const FONT = "11px system-ui, sans-serif";

const STEPS = Array.from({ length: 13 }, (_, digits) => [1, 2, 5].map((step) => step * 10 ** digits)).flat();

const dataOf = ({ times, series }: Chart): UPlot.AlignedData =>
  [[...times], ...series.map(({ values }) => [...values])] as UPlot.AlignedData;

/** Draws a chart into an element, as wide and high as it is. */
export function drawChart(
  root: HTMLElement,
  chart: Chart,
  colors: ChartColors,
  onPoint: (index: number | null) => void,
): DrawnChart {
  let shown = chart;
  let isPointing = false;
  const drawn = new UPlot(
    optionsOf(
      root,
      chart,
      colors,
      () => shown,
      (index) => {
        if (!isPointing) onPoint(index);
      },
    ),
    dataOf(chart),
    root,
  );
  const resized = new ResizeObserver(() =>
    drawn.setSize({ width: root.clientWidth, height: root.clientHeight }),
  );
  resized.observe(root);
  return {
    show: (next) => {
      shown = next;
      drawn.setData(dataOf(next));
    },
    point: (index) => {
      const time = index === null ? undefined : shown.times[index];
      isPointing = true;
      drawn.setCursor({ left: time === undefined ? -10 : drawn.valToPos(time, "x"), top: 0 });
      isPointing = false;
    },
    remove: () => {
      resized.disconnect();
      drawn.destroy();
    },
  };
}

function optionsOf(
  root: HTMLElement,
  chart: Chart,
  colors: ChartColors,
  now: () => Chart,
  onPoint: (index: number | null) => void,
): UPlot.Options {
  const axis = {
    stroke: colors.axis,
    font: FONT,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { show: false },
  };
  return {
    width: root.clientWidth,
    height: root.clientHeight,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
    axes: [
      { ...axis, size: 24, space: 64, values: (_, splits) => splits.map((time) => timeLabel(time, now())) },
      // Numbers of runs, and milliseconds, are whole.
      {
        ...axis,
        size: 64,
        space: 28,
        incrs: STEPS,
        values: (_, splits) => splits.map((value) => now().describe(value)),
      },
    ],
    series: [
      {},
      ...chart.series.map(({ label, dash }, index) => ({
        label,
        stroke: colors.series[index] ?? colors.axis,
        width: 1.5,
        ...(dash !== undefined && { dash: DASHES[dash] }),
        // A value between two gaps would not be seen.
        points: { show: chart.times.length <= 2 },
        spanGaps: true,
      })),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? null)] },
  };
}

function timeLabel(time: number, { times }: Chart): string {
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return (span > 2 * DAY_S ? DATE : CLOCK).format(new Date(time * 1_000));
}
