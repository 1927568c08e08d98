import type { ReactNode } from "react";
import type { LineStore } from "../line-store.ts";
import { LogRow } from "../log-row.tsx";
import { useRunLog } from "../use-run-log.ts";

const MAX_LINES = 200;

/** The first line that was written at that time or later. */
function firstLineFrom(store: LineStore, atMs: number): number {
  let low = store.first;
  let high = store.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (store.atMsOf(middle) < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What the run wrote in this time: whatever wrote it, since nothing says which code a line is of. */
export function SpanLog({ runId, fromMs, toMs }: { runId: string; fromMs: number; toMs: number }): ReactNode {
  const { log, follow } = useRunLog({ id: runId });
  const store = log.lines;
  const from = firstLineFrom(store, fromMs);
  const to = firstLineFrom(store, toMs + 1);
  if (from === to)
    return (
      <p role="status" className="pt-1 text-xs text-quiet">
        {follow.state === "connecting" ? "Reading the log …" : "Nothing was written in this time."}
      </p>
    );
  const lines = Array.from({ length: Math.min(MAX_LINES, to - from) }, (_, index) => from + index);
  return (
    <div className="flex flex-col gap-1 pt-1">
      <div
        role="region"
        aria-label="Log lines of the span"
        tabIndex={0}
        className="max-h-72 overflow-auto rounded-md border border-line bg-raised py-1 font-mono text-xs leading-[18px]"
      >
        {lines.map((line) => (
          <LogRow
            key={line}
            text={store.textOf(line)}
            style={store.styleOf(line)}
            stream={store.streamOf(line)}
            atMs={null}
            from={null}
            columns={null}
            wanted=""
            isCurrent={false}
          />
        ))}
      </div>
      {to - from > MAX_LINES && (
        <p className="text-xs text-quiet">
          The first {MAX_LINES} of {(to - from).toLocaleString()} lines are shown.
        </p>
      )}
    </div>
  );
}
