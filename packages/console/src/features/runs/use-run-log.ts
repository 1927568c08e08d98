import type { Run, RunLogChunk } from "@keelson/contract";
import { useState, useSyncExternalStore } from "react";
import { useFollow, type Follow } from "../../api/use-follow.ts";
import { at } from "../../api/route.ts";
import { getRunLogs } from "../../api/routes/runs.ts";
import { createRunLog, type RunLog } from "./log-chunks.ts";

/** The run's log from its beginning, and what is written meanwhile. Of one run for the component's life. */
export function useRunLog({ id }: Pick<Run, "id">): { log: RunLog; follow: Follow } {
  const [log] = useState(() => createRunLog());
  useSyncExternalStore(log.subscribe, log.version);
  const follow = useFollow(at(getRunLogs, { id }), {
    onEvents: (batch) => {
      const chunks = batch.filter(({ event }) => event === "run_log").map(({ data }) => data as RunLogChunk);
      if (chunks.length > 0) log.add(chunks);
      if (batch.some(({ event }) => event === "end")) log.finish();
    },
    onGap: (earliest) => log.skipTo(earliest),
  });
  return { log, follow };
}
