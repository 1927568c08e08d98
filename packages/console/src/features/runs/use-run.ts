import type { Run, RunEvent } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useState, useSyncExternalStore } from "react";
import { usePlace } from "../../api/place.ts";
import { useFollow, type Follow } from "../../api/use-follow.ts";
import { itemKey, useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getRun, listRunEvents } from "../../api/routes/runs.ts";
import { listTokens } from "../../api/routes/tokens.ts";
import { createRunEvents, type RunEvents } from "./run-events.ts";

/** While it lives, why it is not running may change without an event. */
const REFETCH_MS = 2000;
/** Kinds whose run is no longer what it was. Metadata may change many times a second: it is read in its turn. */
const CHANGES = /^(run|lease)\./;

/** A run as it is now: read again when its events say that it changed. Of one run for the component's life. */
export function useRun(runId: string): { run: UseQueryResult<Run>; events: RunEvents; follow: Follow } {
  const place = usePlace();
  const queries = useQueryClient();
  const route = at(getRun, { id: runId });
  const queryKey = itemKey(place.environment_id, route);
  const tokensKey = itemKey(place.environment_id, listTokens).slice(0, -1);
  const known = queries.getQueryData<Run>(queryKey);
  const run = useItem(route, {
    refetchMs: known !== undefined && isTerminalRunStatus(known.status) ? undefined : REFETCH_MS,
  });
  const [events] = useState(() => createRunEvents());
  useSyncExternalStore(events.subscribe, events.version);
  const follow = useFollow(at(listRunEvents, { id: runId }), {
    onEvents: (batch) => {
      const heard = batch.filter(({ event }) => event === "run_event").map(({ data }) => data as RunEvent);
      if (heard.length > 0) events.add(heard);
      if (heard.some(({ kind }) => CHANGES.test(kind)) || batch.some(({ event }) => event === "end"))
        void queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
      // What it waited for may have been a token that somebody completed.
      if (heard.some(({ kind }) => kind.startsWith("wait.")))
        void queries.invalidateQueries({ queryKey: tokensKey }, { cancelRefetch: false });
    },
    onGap: (earliest) => events.skipTo(earliest),
  });
  return { run, events, follow };
}
