import { useEffect, useMemo, useState } from "react";
import type { RunLog } from "./log-chunks.ts";
import { createLogSearch, type LogSearch } from "./log-search.ts";
import type { LogStream } from "./line-store.ts";

/** Between two such parts the page may do something else. */
const LINES_AT_ONCE = 20_000;

/** Searches while the page goes on, and what is added too. Null without a text. */
export function useLogSearch(
  log: RunLog,
  version: number,
  { text, stream }: { text: string; stream: LogStream | null },
): LogSearch | null {
  const search = useMemo(
    () => (text === "" ? null : createLogSearch(log.lines, { text, stream })),
    [log, text, stream],
  );
  const [, setProgress] = useState(0);
  useEffect(() => {
    if (search === null) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const step = (): void => {
      search.advance(LINES_AT_ONCE);
      setProgress((progress) => progress + 1);
      if (!search.isDone) timer = setTimeout(step);
    };
    timer = setTimeout(step);
    return () => clearTimeout(timer);
  }, [search, version]);
  return search;
}
