import { useEffect, useMemo, useState } from "react";
import type { RunLog } from "./log-chunks.ts";
import { createLogSearch, type LogSearch } from "./log-search.ts";
import type { LogStream } from "./line-store.ts";

/** Between two such parts the page may do something else. */
const LINES_AT_ONCE = 20_000;

/** Searches while the page goes on, and what is added too. Null without a text. */
export function useLogSearch(
  log: RunLog,
  { text, stream }: { text: string; stream: LogStream | null },
): LogSearch | null {
  const search = useMemo(
    () => (text === "" ? null : createLogSearch(log.lines, { text, stream })),
    [log, text, stream],
  );
  const [, setProgress] = useState(0);
  useEffect(() => {
    if (search === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const step = (): void => {
      timer = undefined;
      search.advance(LINES_AT_ONCE);
      setProgress((progress) => progress + 1);
      if (!search.isDone) goOn();
    };
    const goOn = (): void => {
      timer ??= setTimeout(step);
    };
    goOn();
    const leave = log.subscribe(goOn);
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, [search, log]);
  return search;
}
