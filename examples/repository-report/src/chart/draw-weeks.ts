import type { History } from "../history.ts";
import { countText, dayText, shortText, ticksUpTo } from "./numbers.ts";
import { element, group, textAt, tooltip } from "./xml.ts";

export type Area = { x: number; y: number; width: number; height: number };
export type Week = { week: string; commits: number };

const WEEK_MS = 7 * 86_400_000;
const MIN_WEEKS = 12;
const MAX_WEEKS = 104;
const AXIS_WIDTH = 36;
const MAX_BAR_WIDTH = 32;
const LABEL_HEIGHT = 22;

/** All weeks to show, those without commits too: up to two years to the newest commit, and never so few that bars say nothing. */
export function fillWeeks(weeks: History["weeks"]): Week[] {
  const [first, last] = [weeks.at(0), weeks.at(-1)];
  if (first === undefined || last === undefined) return [];
  const end = Date.parse(last.week);
  const span = Math.round((end - Date.parse(first.week)) / WEEK_MS) + 1;
  const shown = Math.min(MAX_WEEKS, Math.max(MIN_WEEKS, span));
  const commits = new Map(weeks.map((entry) => [entry.week, entry.commits]));
  return Array.from({ length: shown }, (_, i) => {
    const week = new Date(end - (shown - 1 - i) * WEEK_MS).toISOString().slice(0, 10);
    return { week, commits: commits.get(week) ?? 0 };
  });
}

/** Bars of commits a week, with the months below. */
export function drawWeeks(weeks: readonly Week[], area: Area): string {
  if (weeks.length === 0) return textAt(area.x, area.y + 24, "There are no commits yet.", { class: "quiet" });
  const ticks = ticksUpTo(Math.max(...weeks.map(({ commits }) => commits)), 4);
  const top = ticks.at(-1) as number;
  const left = area.x + AXIS_WIDTH;
  const bottom = area.y + area.height - LABEL_HEIGHT;
  const right = area.x + area.width;
  const yOf = (commits: number): number => bottom - (commits / top) * (bottom - area.y);
  const step = (right - left) / weeks.length;
  const width = Math.min(MAX_BAR_WIDTH, Math.max(1, step - Math.min(4, step * 0.25)));
  const bars = weeks.flatMap(({ week, commits }, i) => {
    if (commits === 0) return [];
    const bar = {
      x: left + i * step + (step - width) / 2,
      y: yOf(commits),
      width,
      height: bottom - yOf(commits),
    };
    const corner = Math.min(2, width / 2);
    return [
      element(
        "rect",
        { ...bar, rx: corner, class: "bar" },
        tooltip(`Week of ${dayText(week)}: ${countText(commits, "commit")}`),
      ),
    ];
  });
  const lines = ticks.flatMap((tick) => [
    element("line", {
      x1: left,
      x2: right,
      y1: yOf(tick),
      y2: yOf(tick),
      class: tick === 0 ? "axis" : "grid",
    }),
    textAt(left - 8, yOf(tick) + 4, shortText(tick), { class: "quiet small", "text-anchor": "end" }),
  ]);
  return group({}, [...lines, ...bars, ...drawMonths(weeks, left, step, bottom)]);
}

/** A label where a month begins, as many as have room. */
function drawMonths(weeks: readonly Week[], left: number, step: number, bottom: number): string[] {
  const room = 58;
  const starts = weeks
    .map(({ week }, i) => ({ month: week.slice(0, 7), x: left + i * step }))
    .filter(({ month }, i, all) => i === 0 || month !== all[i - 1]?.month);
  let free = Number.NEGATIVE_INFINITY;
  const end = left + weeks.length * step;
  return starts.flatMap(({ month, x }, i) => {
    // The first month shown has often few weeks of it left; the next one's label matters more.
    const next = starts[i + 1];
    if (x < free || x + room / 2 > end || (i === 0 && next !== undefined && next.x - x < room)) return [];
    free = x + room;
    const [, name, year] = /^\d* ?(\w+) \d+, (\d+)$/.exec(dayText(`${month}-01`)) ?? [];
    const label = i === 0 || month.endsWith("-01") ? `${name} ${year}` : `${name}`;
    return [
      element("line", { x1: x, x2: x, y1: bottom, y2: bottom + 5, class: "axis" }),
      textAt(x + 3, bottom + 17, label, { class: "quiet small" }),
    ];
  });
}
