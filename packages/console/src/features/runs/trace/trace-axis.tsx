import type { ReactNode } from "react";
import { cx } from "../../../ui/class-names.ts";
import { describeDuration } from "../../../ui/describe-time.ts";
import { placeOf, ticksOfAxis, type Axis, type Stretch, type Tick } from "./time-axis.ts";

/** Name, bar and length; the same for the axis and for all rows below it. */
export const TIMELINE_GRID =
  "grid grid-cols-[9rem_minmax(0,1fr)_5rem] items-center gap-x-3 px-3 sm:grid-cols-[14rem_minmax(0,1fr)_6rem]";

/** Less of the axis has no room for the length of a fold, nor for a time beside one. */
const MIN_LABEL_SHARE = 0.06;

export const clock = (ms: number): string =>
  new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");
export const percent = (share: number): string => `${100 * share}%`;

/** Round times need no second figure. */
const describeRound = (ms: number): string =>
  describeDuration(ms)
    .replace(/\.0 s$/, " s")
    .replace(/ 0 (s|min|h)$/, "");

const lengthOf = ({ fromMs, toMs }: Stretch): number => toMs - fromMs;
const placed = (axis: Axis, fold: Stretch): { left: string; width: string } => ({
  left: percent(placeOf(axis, fold.fromMs)),
  width: percent(axis.foldShare),
});

/** Stays in sight, with what is said of the row that is pointed at. */
export function TimelineAxis({ axis, said }: { axis: Axis; said: string }): ReactNode {
  return (
    <div className="sticky top-0 z-[5] border-b border-line bg-raised py-1.5 text-xs text-quiet">
      <div className={TIMELINE_GRID}>
        <span className="tabular-nums">{describeDuration(lengthOf(axis))} in all</span>
        <span aria-hidden className="relative block h-4">
          {ticksOfAxis(axis).map((tick) => (
            <TickMark key={tick.atMs} axis={axis} tick={tick} />
          ))}
          {axis.folds.map((fold) => (
            <span
              key={fold.fromMs}
              data-fold
              className="absolute flex justify-center whitespace-nowrap text-text max-sm:invisible"
              style={placed(axis, fold)}
            >
              {axis.foldShare >= MIN_LABEL_SHARE && <span>{describeRound(lengthOf(fold))}</span>}
            </span>
          ))}
        </span>
        <span className="text-right">Took</span>
      </div>
      <p className="truncate px-3 pt-1 font-mono" aria-live="off">
        {said}
      </p>
    </div>
  );
}

function TickMark({ axis, tick: { atMs, sinceMs, isAfterFold } }: { axis: Axis; tick: Tick }): ReactNode {
  const place = placeOf(axis, atMs);
  const next = axis.folds.find(({ fromMs }) => fromMs >= atMs);
  const hasRoom = next === undefined || placeOf(axis, next.fromMs) - place >= MIN_LABEL_SHARE;
  return (
    <span
      className="absolute border-l border-line pl-1 whitespace-nowrap"
      style={{ left: percent(place) }}
      title={clock(atMs)}
    >
      <span className="max-sm:hidden">
        {hasRoom && (sinceMs === 0 ? "0" : `${isAfterFold ? "+" : ""}${describeRound(sinceMs)}`)}
      </span>
    </span>
  );
}

/** Breaks all rows where time is folded. */
export function FoldMarks({ axis }: { axis: Axis }): ReactNode {
  return (
    <div aria-hidden className={cx(TIMELINE_GRID, "pointer-events-none absolute inset-0")}>
      <span className="relative col-start-2 self-stretch">
        {axis.folds.map((fold) => (
          <span
            key={fold.fromMs}
            className="absolute inset-y-0 border-x border-dashed border-quiet bg-[repeating-linear-gradient(115deg,transparent_0_5px,var(--color-surface)_5px_7px,var(--color-line)_7px_8px,var(--color-surface)_8px_10px)]"
            style={placed(axis, fold)}
          />
        ))}
      </span>
    </div>
  );
}
