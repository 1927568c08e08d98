import type { RunActivityMinute } from "@keelson/contract";
import { useState, type KeyboardEvent, type ReactNode } from "react";
import { Table, type Column } from "../../ui/table.tsx";
import { describeMinute, failuresOf, roundUp } from "./summarize-activity.ts";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const clock = (at: string): string => CLOCK.format(new Date(at));

const HEIGHT = 120;
/** Failures hang below the line, in a smaller part of the same scale. */
const BASE = 84;
const STEP = 10;

const COLUMNS: readonly Column<RunActivityMinute>[] = [
  { heading: "Minute", cell: ({ at }) => clock(at) },
  { heading: "Created", isNumber: true, cell: ({ created }) => created },
  { heading: "Succeeded", isNumber: true, cell: ({ succeeded }) => succeeded },
  { heading: "Failed", isNumber: true, cell: failuresOf },
  { heading: "Cancelled", isNumber: true, cell: ({ cancelled }) => cancelled },
];

const isBusy = (minute: RunActivityMinute): boolean =>
  minute.created + minute.succeeded + minute.cancelled + failuresOf(minute) > 0;

/** Runs of each minute: those created stand on the line, failures hang below it. Arrow keys go from minute to minute. */
export function ActivityPlot({ minutes }: { minutes: readonly RunActivityMinute[] }): ReactNode {
  const [chosen, setChosen] = useState<number | null>(null);
  const top = roundUp(Math.max(...minutes.map(({ created }) => created), 1));
  const bottom = roundUp(Math.max(...minutes.map(failuresOf), 1));
  const last = minutes.length - 1;
  const shown = Math.min(chosen ?? last, last);
  const minute = minutes[shown];
  const [first] = minutes;
  if (minute === undefined || first === undefined) return null;
  const said = describeMinute(minute, clock(minute.at));
  const busy = minutes.filter(isBusy);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-quiet">
        <Key className="bg-accent" text={`Created (up to ${top} per minute)`} />
        <Key className="bg-bad" text={`Failed (up to ${bottom} per minute)`} />
        <span className="ml-auto text-text tabular-nums">{said}</span>
      </div>
      <div
        role="slider"
        tabIndex={0}
        aria-label="Minute"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={shown}
        aria-valuetext={said}
        onKeyDown={(event) => setChosen(moveBy(event, shown, last))}
        onPointerLeave={() => setChosen(null)}
        onBlur={() => setChosen(null)}
      >
        <Bars minutes={minutes} shown={chosen} top={top} bottom={bottom} onPoint={setChosen} />
      </div>
      <div className="flex justify-between text-xs text-quiet tabular-nums">
        <span>{clock(first.at)}</span>
        <span>now</span>
      </div>
      <details>
        <summary className="text-xs text-quiet">As a table</summary>
        <div className="mt-2 max-h-72 overflow-y-auto">
          {busy.length === 0 ? (
            <p className="text-quiet">No run was created or ended in these {minutes.length} minutes.</p>
          ) : (
            <Table
              label="Runs by minute"
              columns={COLUMNS}
              rows={busy.toReversed()}
              rowKey={({ at }) => at}
            />
          )}
        </div>
      </details>
    </div>
  );
}

function Key({ className, text }: { className: string; text: string }): ReactNode {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={`size-2 rounded-sm ${className}`} />
      {text}
    </span>
  );
}

function moveBy(event: KeyboardEvent, at: number, last: number): number {
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
  if (to === undefined) return at;
  event.preventDefault();
  return Math.max(0, Math.min(last, to));
}

type BarsProps = {
  minutes: readonly RunActivityMinute[];
  shown: number | null;
  top: number;
  bottom: number;
  onPoint: (index: number) => void;
};

function Bars({ minutes, shown, top, bottom, onPoint }: BarsProps): ReactNode {
  const width = minutes.length * STEP;
  const up = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / top) * BASE));
  const down = (count: number): number =>
    count === 0 ? 0 : Math.max(2, (count / bottom) * (HEIGHT - BASE - 2));
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-32 w-full"
    >
      {minutes.map((minute, index) => (
        <g key={minute.at} onPointerEnter={() => onPoint(index)}>
          <rect
            x={index * STEP}
            width={STEP}
            height={HEIGHT}
            className={shown === index ? "fill-raised" : "fill-transparent"}
          />
          <rect
            x={index * STEP + 1.5}
            y={BASE - up(minute.created)}
            width={STEP - 3}
            height={up(minute.created)}
            className="fill-accent"
          />
          <rect
            x={index * STEP + 1.5}
            y={BASE + 2}
            width={STEP - 3}
            height={down(failuresOf(minute))}
            className="fill-bad"
          />
        </g>
      ))}
      <rect y={BASE} width={width} height={1} className="fill-line" />
    </svg>
  );
}
