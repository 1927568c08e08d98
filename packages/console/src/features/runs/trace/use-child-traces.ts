import type { RunEvent } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { useQueries } from "@tanstack/react-query";
import { get } from "../../../api/client.ts";
import { usePlace, type Place } from "../../../api/place.ts";
import { at } from "../../../api/route.ts";
import { getRun, listRunEvents, listRuns } from "../../../api/routes/runs.ts";
import { listTokens } from "../../../api/routes/tokens.ts";
import { itemKey } from "../../../api/use-item.ts";
import type { TraceData } from "./span.ts";

const REFETCH_MS = 2000;
/** The newest children of a run that are shown. */
export const SHOWN_CHILDREN = 200;
/** The first tokens of a run that are shown. */
export const SHOWN_TOKENS = 200;
const PAGE_EVENTS = 200;
/** Of a child with more, the first are shown here, and all on its own page. */
const MAX_EVENTS = 1000;

type ChildTrace = TraceData & { isLive: boolean };

async function readEvents(place: Place, runId: string, signal: AbortSignal): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  let cursor: string | undefined;
  do {
    const page = await get(
      at(listRunEvents, { id: runId }),
      { ...place, limit: PAGE_EVENTS, ...(cursor !== undefined && { cursor }) },
      signal,
    );
    events.push(...page.events);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && events.length < MAX_EVENTS);
  return events;
}

async function readTrace(place: Place, runId: string, signal: AbortSignal): Promise<ChildTrace> {
  // The status first: what a run that has ended did is all there.
  const run = await get(at(getRun, { id: runId }), place, signal);
  const [events, { runs: children }, { tokens }] = await Promise.all([
    readEvents(place, runId, signal),
    get(listRuns, { ...place, parent_run_id: runId, limit: SHOWN_CHILDREN }, signal),
    get(listTokens, { ...place, run_id: runId, order: "oldest", limit: SHOWN_TOKENS }, signal),
  ]);
  return { events, children, tokens, isLive: !isTerminalRunStatus(run.status) };
}

/** What is known of these runs, by their ids; a live one is read again and again. */
export function useChildTraces(runIds: readonly string[]): ReadonlyMap<string, TraceData> {
  const place = usePlace();
  return useQueries({
    queries: runIds.map((id) => ({
      queryKey: [...itemKey(place.environment_id, at(getRun, { id })), "trace"],
      queryFn: ({ signal }: { signal: AbortSignal }) => readTrace(place, id, signal),
      refetchInterval: ({ state }: { state: { data: ChildTrace | undefined } }) =>
        state.data?.isLive === false ? (false as const) : REFETCH_MS,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }, index) => {
          const id = runIds[index];
          return data === undefined || id === undefined ? [] : [[id, data] as const];
        }),
      ),
  });
}
