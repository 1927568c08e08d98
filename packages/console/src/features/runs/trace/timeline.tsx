import type { Run } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { useState, type ReactNode } from "react";
import { listRuns } from "../../../api/routes/runs.ts";
import { listTokens } from "../../../api/routes/tokens.ts";
import { useItem } from "../../../api/use-item.ts";
import { EnvironmentLink } from "../../../app/environment-link.tsx";
import { Loading } from "../../../ui/async.tsx";
import { describeDuration } from "../../../ui/describe-time.ts";
import { CheckField } from "../../../ui/field.tsx";
import { useNow } from "../../../ui/time.tsx";
import type { RunEvents } from "../run-events.ts";
import type { RunSearch } from "../run-search.ts";
import { spansOf, traceOf } from "./build-trace.ts";
import { pathTo } from "./span.ts";
import { SpanPanel } from "./span-panel.tsx";
import { SpanTree } from "./span-tree.tsx";
import { axisOf, idleStretches, type Stretch } from "./time-axis.ts";
import { SHOWN_CHILDREN, SHOWN_TOKENS, useChildTraces } from "./use-child-traces.ts";
import { openChildren, visibleSpans, type Opened } from "./visible-spans.ts";

/**
 * What took how long, on one axis: states and attempts of the run, in these its steps, waits and what it wrote, and the
 * runs that it started, each with its own. One of them can be selected, and is shown beside.
 */
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
  const { fold: isFolded = true, span: selected, ...others } = search;
  const [opened, setOpened] = useState<Opened>(new Map());
  const { data: page } = useItem(listRuns, {
    query: { parent_run_id: run.id, limit: SHOWN_CHILDREN },
    refetchMs: isTerminalRunStatus(run.status) && run.finished_at !== null ? undefined : 2000,
  });
  const { data: made } = useItem(listTokens, {
    query: { run_id: run.id, order: "oldest", limit: SHOWN_TOKENS },
    refetchMs: isTerminalRunStatus(run.status) && run.finished_at !== null ? undefined : 2000,
  });
  const known = useChildTraces(openChildren(opened, selected));
  const nowMs = useNow();
  const tokens = made?.tokens ?? [];
  const spans = spansOf(run.id, { events: events.all, children: page?.runs ?? [], tokens }, known);
  if (spans.length === 0) return <Loading />;
  const trace = traceOf(spans, nowMs);
  const idle = idleStretches(trace);
  const folds = isFolded ? {} : ({ fold: false } as const);
  const select = (key: string | null): void =>
    onChange({ ...others, ...folds, ...(key !== null && { span: key }) });
  const shown = selected === undefined ? undefined : pathTo(spans, selected).at(-1);
  return (
    <div className="flex h-full min-h-80 flex-col gap-2">
      {idle.length > 0 && (
        <FoldToggle
          idle={idle}
          isFolded={isFolded}
          onToggle={() =>
            onChange({
              ...others,
              ...(selected !== undefined && { span: selected }),
              ...(isFolded && { fold: false }),
            })
          }
        />
      )}
      <div className="flex min-h-0 flex-1 flex-col gap-3 lg:flex-row">
        <SpanTree
          rows={visibleSpans(spans, opened, selected)}
          axis={axisOf(trace, isFolded ? idle : [])}
          nowMs={nowMs}
          selected={selected ?? null}
          onSelect={select}
          onOpen={(key, isOpen) => setOpened(new Map(opened).set(key, isOpen))}
        />
        {shown !== undefined && (
          <SpanPanel key={shown.key} span={shown} nowMs={nowMs} onClose={() => select(null)} />
        )}
      </div>
      {page !== undefined && page.runs.length > 0 && (
        <ChildList runId={run.id} isWhole={page.next_cursor === null} />
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

/** @param isWhole the timeline has all of them */
function ChildList({ runId, isWhole }: { runId: string; isWhole: boolean }): ReactNode {
  return (
    <EnvironmentLink
      to="runs"
      search={{ parent_run_id: runId }}
      className="shrink-0 text-sm text-accent hover:underline"
    >
      {isWhole ? "Show child runs as a list" : `All child runs (newest ${SHOWN_CHILDREN} shown)`}
    </EnvironmentLink>
  );
}
