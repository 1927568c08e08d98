import type { Run } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { useCallback, useDeferredValue, useMemo, useRef, useState, type ReactNode } from "react";
import { Empty } from "../../ui/empty.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Loading } from "../../ui/async.tsx";
import { createLogLayout } from "./log-layout.ts";
import { LogRows, type LogPlace } from "./log-rows.tsx";
import { findError } from "./log-search.ts";
import { LogToolbar } from "./log-toolbar.tsx";
import type { RunSearch } from "./run-search.ts";
import { useLogSearch } from "./use-log-search.ts";
import { useRunLog } from "./use-run-log.ts";

/** A character's width in the log's font is about this share of its size, until it is measured. */
const CHARACTER_PX = 7.25;
const GUTTER_CHARACTERS = 5;
const TIME_CHARACTERS = 13;
const LEAST_COLUMNS = 20;

type LogViewProps = { run: Run; search: RunSearch; onChange: (search: RunSearch) => void };

/** What the run's code wrote, live. */
export function LogView({ run, search, onChange }: LogViewProps): ReactNode {
  const { log, follow } = useRunLog(run);
  const [isFollowing, setIsFollowing] = useState(!isTerminalRunStatus(run.status));
  const [isWrapped, setIsWrapped] = useState(false);
  const [hasTimes, setHasTimes] = useState(false);
  const [currentLine, setCurrentLine] = useState<number | null>(null);
  const [widthPx, setWidthPx] = useState(0);
  const place = useRef<LogPlace>(null);

  const stream = search.stream ?? null;
  const columns = isWrapped ? columnsOf(widthPx, hasTimes) : null;
  const layout = useMemo(() => createLogLayout(log.lines, { stream, columns }), [log, stream, columns]);
  layout.update();
  const wanted = useDeferredValue(search.find ?? "");
  const found = useLogSearch(log, { text: wanted, stream });

  const show = (line: number | null): void => {
    setCurrentLine(line);
    if (line !== null) place.current?.show(line);
  };
  const from = (): number => currentLine ?? (place.current?.firstSeen() ?? log.lines.first) - 1;
  const showMatch = (step: 1 | -1): void => {
    const match = found?.next(from() + step, step) ?? null;
    show(match === null || found === null ? null : found.lineOf(match));
  };
  const onWidth = useCallback((px: number) => setWidthPx(px), []);

  if (follow.state === "failed") return <ErrorPanel error={follow.error} />;
  if (log.lines.end === 0) {
    if (follow.state === "connecting") return <Loading />;
    return (
      <Empty title={follow.state === "ended" ? "The run wrote no output" : "No output yet"}>
        What the task writes to stdout and stderr, such as by console.log, appears here as it is written.
      </Empty>
    );
  }
  return (
    <div className="flex h-full min-h-80 flex-col gap-2">
      <LogToolbar
        runId={run.id}
        log={log}
        found={found}
        currentLine={currentLine}
        search={search}
        onChange={onChange}
        onMatch={showMatch}
        onError={() => show(findError(log.lines, from()))}
        isWrapped={isWrapped}
        onWrapped={setIsWrapped}
        hasTimes={hasTimes}
        onTimes={setHasTimes}
      />
      <LogRows
        key={`${stream ?? ""} ${columns ?? ""}`}
        store={log.lines}
        layout={layout}
        columns={columns}
        wanted={wanted.toLowerCase()}
        currentLine={currentLine}
        hasTimes={hasTimes}
        isLive={follow.state !== "ended"}
        isFollowing={isFollowing}
        onFollowing={setIsFollowing}
        place={place}
        onWidth={onWidth}
      />
    </div>
  );
}

/** In steps, so that a window that is being resized is not laid out at every pixel. */
function columnsOf(widthPx: number, hasTimes: boolean): number {
  const characters =
    Math.floor(widthPx / CHARACTER_PX) - GUTTER_CHARACTERS - (hasTimes ? TIME_CHARACTERS : 0);
  return Math.max(LEAST_COLUMNS, Math.floor(characters / 4) * 4);
}
